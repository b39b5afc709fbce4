"""Databases for the tests of faults, in which the database of the suite is SQLite."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pets.fields import new_pet_id
from tests.databases import migrated_database_url, new_database
from tests.faults.servers import Server, new_server, primary
from tests.service import stopped_service


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a server with an empty database and with one that has all tables, for the servers of tests.

    One of the processes of pytest-xdist makes them for all.
    """
    folder = tmp_path_factory.getbasetemp()
    made = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "cluster"
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            with new_server() as server:
                server.run("initdb --username=postgres --auth=trust --encoding=UTF8 --no-sync")
                server.start()
                server.sql("CREATE DATABASE migrated")
                stopped_service(folder, server.url).manage("migrate", "--verbosity", "0")
                server.stop("fast")
                subprocess.run(["cp", "-a", server.folder, made], check=True)
    return made


@pytest.fixture
def server(cluster: Path) -> Iterator[Server]:
    """A PostgreSQL server of one test."""
    with primary(cluster) as running:
        yield running


@pytest.fixture(scope="session")
def postgresql_server(cluster: Path) -> Iterator[str]:
    """The URL of a PostgreSQL server that the tests share and leave running."""
    with primary(cluster) as server:
        yield server.empty_url


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
    url: str = request.getfixturevalue("migrated_url" if request.param == "SQLite" else "postgresql_url")
    return url


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A SQLite database with an API key and no other rows, which a service does not set up first."""
    with migrated_database_url(tmp_path_factory.mktemp("migrated")) as url:
        yield Path(url.removeprefix("sqlite:///"))


@pytest.fixture(scope="session")
def backup(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a database with one pet."""
    folder = tmp_path_factory.mktemp("backup")
    shutil.copy(migrated, folder)
    service, file = stopped_service(folder), folder / "pets.backup"
    columns = "INSERT INTO pets_pet (id, name, status, created_at)"
    service.execute(f"{columns} VALUES (%s, 'Rex', 'available', '2026-01-01')", new_pet_id())
    service.manage("backup_database", str(file))
    return file
