"""The commands that need the database, where there is none that they can use."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, free_port

pytestmark = pytest.mark.once

COMMANDS = {
    "create_api_key": ["Acme"],
    "revoke_api_key": ["pets_test_12345678"],
    "import_pets": [os.devnull],
    "export_pets": ["-"],
    "reconcile_inventory": [],
}


def refused(command: str, url: str) -> str:
    """What `command` says at its end, which must be a failure."""
    arguments = [sys.executable, "manage.py", command, *COMMANDS[command]]
    ended = subprocess.run(
        arguments, cwd=ROOT, env=os.environ | {"DATABASE_URL": url}, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    return ended.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_command_says_that_the_database_has_no_tables_yet(tmp_path: Path, command: str) -> None:
    said = refused(command, f"sqlite:///{tmp_path}/new.sqlite3")

    assert re.search(r"lacks \d+ migration\(s\): run `python manage.py migrate`", said)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_says_that_the_database_does_not_answer(command: str) -> None:
    said = refused(command, f"postgres://me:s3cret@127.0.0.1:{free_port()}/pets")

    assert "The database does not answer: connection" in said
    assert "s3cret" not in said
