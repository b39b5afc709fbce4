"""A command that is interrupted before it has written its event changes nothing."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from petservice.apikeys.models import APIKey
from store.models import InventoryCounter
from tests.backoffice.login import fail

PREFIX = "pets_test_12345678"
COMMANDS: dict[str, list[str]] = {
    "axes_reset_username": ["ada"],
    "changepassword": ["ada"],
    "create_api_key": ["Bob"],
    "createsuperuser": ["--no-input", "--username=eve", "--email=eve@example.org"],
    "import_pets": ["pets.csv"],
    "reconcile_inventory": [],
    "revoke_api_key": [PREFIX],
}


def interrupt(execute: Any, sql: str, *arguments: Any) -> Any:
    if sql.startswith('INSERT INTO "journal_event"'):
        raise KeyboardInterrupt
    return execute(sql, *arguments)


@pytest.mark.django_db
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_interrupted_before_its_event_is_written_changes_nothing(
    command: str, ada: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> None:
        call_command(command, *COMMANDS[command], stdout=StringIO(), stderr=StringIO())

    monkeypatch.setattr("getpass.getpass", lambda **_: "another long password")
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "another long password")
    monkeypatch.chdir(tmp_path)
    Path("pets.csv").write_text("Name\nRex\n")
    APIKey.objects.create(name="Acme", prefix=PREFIX, environment="test")
    InventoryCounter.objects.create(status="available", count=5)
    fail(5)
    before = connection.creation.serialize_db_to_string()

    with connection.execute_wrapper(interrupt), pytest.raises((KeyboardInterrupt, CommandError, SystemExit)):
        run()

    assert connection.creation.serialize_db_to_string() == before
    run()
    assert connection.creation.serialize_db_to_string() != before
