"""`python -m tests.repository.released REVISION` makes the databases of a release, which later versions must upgrade.

It runs the code of the revision in its own folder, with the packages of its lock file, and writes `sqlite.gz`,
`postgresql.sql` and `keys.txt` next to this file. The databases have pets, a key, accounts, a group, history, an audit,
changes that can be undone, one that was undone, a deleted pet, a session and an idempotency record. Run it after
a release, with the release's tag.
"""

import gzip
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.benchmarks.databases import Database, connected, empty_database
from tests.faults.servers import PROGRAMS
from tests.running.checkout import install_revision

HERE = Path(__file__).resolve().parent
PETS = """
{"name": "Zoë", "tag": "Cat"}
{"name": "Барсик", "status": "sold"}
{"name": "Rex", "tag": "dog"}
{"name": "Max", "tag": "cat"}
"""


def fill(code: Path, python: Path, database: Database) -> str:
    """Fill an empty database with the code of the release, and return its API key."""
    run = partial(database.run, "manage.py", folder=code, python=python)
    run("migrate", "--verbosity", "0")
    (file := database.folder / "pets.jsonl").write_text(PETS.lstrip())
    run("import_pets", file)
    key = run("create_api_key", "Acme")
    run("shell", "-c", f"import os\nos.environ['KEY'] = {key!r}\n{(HERE / 'use.py').read_text()}")
    return key


def main(revision: str) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        empty_database("SQLite") as sqlite,
        empty_database("PostgreSQL") as postgresql,
    ):
        python = install_revision(revision, code := Path(name, "code"))
        keys = [fill(code, python, database) for database in (sqlite, postgresql)]
        one_file = Path(name, "without-log.sqlite3")
        with connected(sqlite) as connection:
            connection.execute("VACUUM INTO ?", [str(one_file)])
        (HERE / "sqlite.gz").write_bytes(gzip.compress(one_file.read_bytes(), mtime=0))
        dump = [PROGRAMS / "pg_dump", "--inserts", "--no-owner", "--no-privileges", postgresql.url]
        text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
        # psql alone understands the lines that begin with a backslash.
        lines = [line for line in text.splitlines() if not line.startswith(("\\", "--")) and line]
        (HERE / "postgresql.sql").write_text("\n".join(lines) + "\n")
    (HERE / "keys.txt").write_text("\n".join([*keys, ""]))


if __name__ == "__main__":
    main(sys.argv[1])
