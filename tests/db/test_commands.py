"""Commands report that the database has pending migrations, and change nothing if they are interrupted."""

import os
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from petservice.apikeys.models import APIKey
from store.models import InventoryCounter
from tests.backoffice.login import fail
from tests.service import manage

pytestmark = pytest.mark.once

COMMANDS = {
    "create_api_key": ["Acme"],
    "revoke_api_key": ["pets_test_12345678"],
    "import_pets": [os.devnull],
    "export_pets": ["-"],
    "reconcile_inventory": [],
}


def test_command_reports_a_database_without_tables(tmp_path: Path) -> None:
    file = tmp_path / "new.sqlite3"

    ended = manage("create_api_key", "Acme", DATABASE_URL=f"sqlite:///{file}")

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "Traceback" not in ended.stderr
    assert re.search(r"lacks \d+ migration\(s\): run the command `migrate`", ended.stderr)
    # Only its owner may read the file, because it gets digests of keys and secrets of second factors.
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reports_pending_migrations(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command reports it before it uses the database, which pytest-django prevents here."""
    monkeypatch.setattr("petservice.db.pending_migrations.pending_migrations", lambda: 1)
    output = StringIO()

    with pytest.raises(CommandError, match=r"lacks 1 migration\(s\)"):
        call_command(command, *COMMANDS[command], stdout=output)

    assert output.getvalue() == ""


def interrupt(execute: Any, sql: str, *arguments: Any) -> Any:
    if sql.startswith('INSERT INTO "journal_event"'):
        raise KeyboardInterrupt
    return execute(sql, *arguments)


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["axes_reset_username", "create_api_key", "reconcile_inventory", "revoke_api_key"])
def test_a_command_that_is_interrupted_before_its_event_is_written_changes_nothing(command: str, ada: Any) -> None:
    APIKey.objects.create(name="Acme", prefix="pets_test_12345678", environment="test")
    InventoryCounter.objects.create(status="available", count=5)
    fail(5)
    before = connection.creation.serialize_db_to_string()

    with connection.execute_wrapper(interrupt), pytest.raises(KeyboardInterrupt):
        call_command(command, *COMMANDS.get(command, ["ada"]))

    assert connection.creation.serialize_db_to_string() == before
