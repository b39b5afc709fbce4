"""Commands report that the database is unavailable or has pending migrations."""

import os
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from tests.service import free_port, manage

pytestmark = pytest.mark.once

COMMANDS = {
    "create_api_key": ["Acme"],
    "revoke_api_key": ["pets_test_12345678"],
    "import_pets": [os.devnull],
    "export_pets": ["-"],
    "reconcile_inventory": [],
}


def error_message(url: str) -> str:
    """Run a command that must fail, and return its error message."""
    ended = manage("create_api_key", "Acme", DATABASE_URL=url)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    return ended.stderr


def test_command_reports_a_database_without_tables_which_only_its_owner_may_read(tmp_path: Path) -> None:
    message = error_message(f"sqlite:///{tmp_path}/new.sqlite3")

    # Only its owner may read the file, because it gets digests of keys and secrets of second factors.
    assert (tmp_path / "new.sqlite3").stat().st_mode & 0o777 == 0o600
    assert re.search(r"lacks \d+ migration\(s\): run the command `migrate`", message)


def test_command_reports_an_unavailable_database() -> None:
    message = error_message(f"postgres://me:s3cret@127.0.0.1:{free_port()}/pets")

    assert "The database does not answer: connection" in message
    assert "s3cret" not in message


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (Mock(return_value=1), r"lacks 1 migration\(s\)"),
        (Mock(side_effect=OperationalError("connection refused")), "does not answer: connection refused"),
    ],
    ids=["pending", "unavailable"],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reports_an_unusable_database(
    command: str, found: Callable[[], int], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command reports it before it uses the database, which pytest-django prevents here."""
    monkeypatch.setattr("petservice.db.pending_migrations.missing_migrations", found)
    output = StringIO()

    with pytest.raises(CommandError, match=sentence):
        call_command(command, *COMMANDS[command], stdout=output)

    assert output.getvalue() == ""
