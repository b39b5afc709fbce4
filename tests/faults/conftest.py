"""Databases for the tests of faults, and the table of the outcomes."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.databases import new_database
from tests.faults.prepared import postgresql_cluster, prepared, sqlite_files
from tests.faults.restores import NAME
from tests.faults.servers import primary


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
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a PostgreSQL server, which each server of a test starts with."""
    return prepared(tmp_path_factory, "postgresql", postgresql_cluster) / "data"


@pytest.fixture(scope="session")
def postgresql_server(cluster: Path) -> Iterator[str]:
    """The URL of a PostgreSQL server that the tests share and leave running."""
    with primary(cluster) as server:
        yield server.empty_url


@pytest.fixture
def sqlite_url(sqlite_folder: Path, tmp_path: Path) -> str:
    """The URL of a SQLite database with all tables and an API key, which a service does not set up first."""
    shutil.copy(sqlite_folder / "with-key", tmp_path / NAME)
    return f"sqlite:///{tmp_path / NAME}"


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """The URL of a PostgreSQL database with all tables."""
    with new_database(postgresql_server, template="migrated") as url:
        yield url


@pytest.fixture
def empty_postgresql_url(postgresql_server: str) -> Iterator[str]:
    """The URL of a new, empty PostgreSQL database."""
    with new_database(postgresql_server, template="template1") as url:
        yield url


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database with all tables, of each kind in turn."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "SQLite" else "postgresql_url")
    return url


@pytest.fixture(scope="session")
def sqlite_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory, "sqlite", sqlite_files)


@pytest.fixture(scope="session")
def migrated(sqlite_folder: Path) -> Path:
    """A database with all tables and without rows."""
    return sqlite_folder / "migrated"


@pytest.fixture(scope="session")
def backup(sqlite_folder: Path) -> Path:
    """A backup of a database with one pet."""
    return sqlite_folder / "pets.backup"


@pytest.fixture
def source(tmp_path: Path, migrated: Path) -> str:
    """The URL of a migrated SQLite database."""
    shutil.copy(migrated, tmp_path / "source.sqlite3")
    return f"sqlite:///{tmp_path}/source.sqlite3"
