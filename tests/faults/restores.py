"""Restores of a SQLite database, and what they leave in its folder."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.service import manage

NAME = "petservice.sqlite3"
PETS = "SELECT name FROM pets_pet ORDER BY name"


def run(folder: Path, *arguments: str | Path, **variables: str) -> tuple[int, str]:
    """Run a management command, by default on the database in `folder`; its exit status and what it says."""
    ended = manage(*map(str, arguments), **{"DATABASE_URL": "", "PETSERVICE_DATA_DIR": str(folder)} | variables)
    return ended.returncode, ended.stdout + ended.stderr


def move(folder: Path, source: str, target: str) -> tuple[int, str]:
    """Run move_database to its end; its exit status and output."""
    status, output = run(folder, "move_database", "--to", target, DATABASE_URL=source)
    assert "Traceback" not in output
    return status, output


def restore(folder: Path, file: Path) -> tuple[int, str]:
    """Restore a backup; the exit status, and what the command says."""
    return run(folder, "restore_database", file)


def refusal(folder: Path, file: Path, name: str = "restore_database") -> str:
    """Run a command with a file that it must refuse, and return what it says."""
    status, output = run(folder, name, file)
    assert status == 1, output
    return output


def pets(database: Path) -> list[str]:
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [name for (name,) in file.execute(PETS)]


def execute(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as file, file:
        for statement in statements:
            file.execute(statement)


def damage(database: Path) -> None:
    """Let a database have a row that its table does not allow, which only a check of the whole file finds."""
    execute(
        database,
        "CREATE TABLE song (name)",
        "INSERT INTO song VALUES (NULL)",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE song (name NOT NULL)' WHERE name = 'song'",
    )


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files but of those that the service keeps next to its database."""
    own = {"secret_key", f"{NAME}.lock", f"{NAME}.service"}
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in own}


def restores_in_audit(database: Path) -> list[str]:
    """Return the messages of the restores in the audit of a database."""
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro&immutable=1", uri=True)) as file:
        return [message for (message,) in file.execute("SELECT message FROM journal_event WHERE kind = 'restored'")]
