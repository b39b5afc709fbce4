"""Restores of a SQLite database, and what they leave in its folder."""

from pathlib import Path

from tests.service import manage, stopped_service

NAME = "petservice.sqlite3"


def run(folder: Path, *arguments: str | Path, **variables: str) -> tuple[int, str]:
    """Run a management command, by default on the database in `folder`; its exit status and what it says."""
    ended = manage(*map(str, arguments), **{"DATABASE_URL": "", "PETSERVICE_DATA_DIR": str(folder)} | variables)
    return ended.returncode, ended.stdout + ended.stderr


def move(folder: Path, source: str, target: str) -> tuple[int, str]:
    """Run move_database to its end; its exit status and output."""
    status, output = run(folder, "move_database", "--to", target, DATABASE_URL=source)
    assert "Traceback" not in output
    return status, output


def refusal(folder: Path, file: Path, name: str = "restore_database") -> str:
    """Run a command with a file that it must refuse, and return what it says."""
    status, output = run(folder, name, file)
    assert status == 1, output
    return output


def pets(folder: Path) -> list[str]:
    """Return the names of the pets in a database without damage."""
    database = stopped_service(folder)
    assert database.execute("PRAGMA integrity_check") == [("ok",)]
    return [name for (name,) in database.execute("SELECT name FROM pets_pet ORDER BY name")]


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files but of those that the service keeps next to its database."""
    own = {"secret_key", f"{NAME}.lock", f"{NAME}.service"}
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in own}
