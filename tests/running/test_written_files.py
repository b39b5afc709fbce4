"""The files that commands write."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service import ROOT

# One process, because each start of Django takes time. `serve` begins a service like this.
PROGRAM = """
import django
from django.core.management import call_command
django.setup()
from petservice.db.backend import backend
call_command("migrate", verbosity=0)
backend().begin_service()
call_command("backup_database", "backup.sqlite3")
for name in ("pets.csv", "pets.jsonl"):
    call_command("export_pets", name)
"""


@pytest.mark.long
@pytest.mark.once
def test_only_their_owner_may_read_the_files_that_commands_write(tmp_path: Path) -> None:
    (tmp_path / "pets.csv").touch(mode=0o644)  # replaced
    environment = os.environ | {
        "PETSERVICE_DATA_DIR": str(tmp_path),
        "DATABASE_URL": "",
        "DJANGO_SETTINGS_MODULE": "petservice.settings",
        "PYTHONPATH": str(ROOT),
    }

    subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, umask=0o022, check=True)

    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
    assert set(modes) >= {"pets.csv", "pets.jsonl", "backup.sqlite3", "petservice.sqlite3"}
    assert {name: mode for name, mode in modes.items() if mode != "0o600"} == {}
