"""A command that is interrupted before it has written its event changes nothing."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from petservice.apikeys.models import APIKey
from store.models import InventoryCounter
from tests.backoffice.login import fail

PREFIX = "pets_test_12345678"
COMMANDS = {
    "axes_reset_username": "ada",
    "create_api_key": "Bob",
    "reconcile_inventory": None,
    "revoke_api_key": PREFIX,
}


def interrupt(execute: Any, sql: str, *arguments: Any) -> Any:
    if sql.startswith('INSERT INTO "journal_event"'):
        raise KeyboardInterrupt
    return execute(sql, *arguments)


# Other tests interrupt the commands that import pets and that ask for a password.
@pytest.mark.django_db
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_interrupted_before_its_event_is_written_changes_nothing(command: str, ada: Any) -> None:
    def run() -> None:
        call_command(command, *filter(None, [COMMANDS[command]]), stdout=StringIO(), stderr=StringIO())

    APIKey.objects.create(name="Acme", prefix=PREFIX, environment="test")
    InventoryCounter.objects.create(status="available", count=5)
    fail(5)
    before = connection.creation.serialize_db_to_string()

    with connection.execute_wrapper(interrupt), pytest.raises(KeyboardInterrupt):
        run()

    assert connection.creation.serialize_db_to_string() == before
    run()
    assert connection.creation.serialize_db_to_string() != before
