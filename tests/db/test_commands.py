"""The commands that need the database, where there is none that they can use."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from tests.service import ROOT, free_port

pytestmark = pytest.mark.once

COMMANDS = {
    "create_api_key": ["Acme"],
    "revoke_api_key": ["pets_test_12345678"],
    "import_pets": [os.devnull],
    "export_pets": ["-"],
    "reconcile_inventory": [],
}


def refused(url: str) -> str:
    """What a command says at its end, which must be a failure."""
    arguments = [sys.executable, "manage.py", "create_api_key", "Acme"]
    ended = subprocess.run(
        arguments, cwd=ROOT, env=os.environ | {"DATABASE_URL": url}, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    return ended.stderr


def test_command_says_that_the_database_has_no_tables_yet(tmp_path: Path) -> None:
    said = refused(f"sqlite:///{tmp_path}/new.sqlite3")

    assert re.search(r"lacks \d+ migration\(s\): run `python manage.py migrate`", said)


def test_command_says_that_the_database_does_not_answer() -> None:
    said = refused(f"postgres://me:s3cret@127.0.0.1:{free_port()}/pets")

    assert "The database does not answer: connection" in said
    assert "s3cret" not in said


def missing() -> int:
    return 1


def no_answer() -> int:
    raise OperationalError("connection refused")


@pytest.mark.parametrize(
    ("found", "sentence"), [(missing, r"lacks 1 migration\(s\)"), (no_answer, "does not answer: connection refused")]
)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_so(
    command: str, found: Callable[[], int], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it touches the database, which it may not do here."""
    monkeypatch.setattr("petservice.db.commands.missing_migrations", found)
    output = StringIO()

    with pytest.raises(CommandError, match=sentence):
        call_command(command, *COMMANDS[command], stdout=output)

    assert output.getvalue() == ""
