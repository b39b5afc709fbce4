"""Databases that take long to create. A test run creates them once, and the tests use copies."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.faults.servers import new_cluster
from tests.service import stopped_service


def prepared(factory: pytest.TempPathFactory, name: str, prepare: Callable[[Path], None]) -> Path:
    """Return a folder that `prepare` has filled, which all processes of a test run share."""
    base = factory.getbasetemp()
    # A process of pytest-xdist has a folder of its own inside that of the run.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"prepared-{name}"
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = Path(f"{folder}.part")
            shutil.rmtree(part, ignore_errors=True)  # of a process that has failed
            part.mkdir()
            prepare(part)
            part.rename(folder)
    return folder


def sqlite_database(folder: Path) -> None:
    """Create a database with an API key and no other rows, which a service does not set up first."""
    service = stopped_service(folder)
    service.manage("migrate", "--verbosity", "0")
    service.create_key()


def postgresql_cluster(folder: Path) -> None:
    """Create the files of a server with an empty database, and with one that has all tables and no rows."""
    with new_cluster(folder / "data") as server:
        with psycopg.connect(server.empty_url, autocommit=True) as database:
            database.execute("CREATE DATABASE migrated")
        stopped_service(folder, server.url).manage("migrate", "--verbosity", "0")
