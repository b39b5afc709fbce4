"""Commands report that the database has pending migrations."""

import os
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

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
