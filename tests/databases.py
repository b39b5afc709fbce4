"""Create databases for services: empty ones, and copies of a migrated one."""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path

import psycopg
from django.conf import settings
from django.db import connection

from tests.service import Service

# The part of a URL before the name of the database, the name, and the part after it.
_NAME = r"^(postgresql://[^/]*/)([^?]*)(.*)$"


@contextmanager
def fresh_database_url(folder: Path, *, template: str = "") -> Iterator[str]:
    """Create a database, empty or as a copy of the one at `template`, and yield its URL.

    It is of the kind that the suite runs on, SQLite or PostgreSQL.
    """
    database = settings.DATABASES["default"]
    if database["ENGINE"] == "petservice.db.sqlite":
        if template:
            shutil.copyfile(template.removeprefix("sqlite:///"), folder / "petservice.sqlite3")
        yield f"sqlite:///{folder}/petservice.sqlite3"
        return
    copied = re.sub(_NAME, r"\g<2>", template) if template else "template1"
    with new_database(os.environ["DATABASE_URL"], template=copied) as url:
        yield url


@contextmanager
def new_database(server: str, *, template: str) -> Iterator[str]:
    """Create a database on a PostgreSQL server as a copy of another, yield its URL, and drop it at the end."""
    name = f"service_{os.getpid()}_{time.monotonic_ns()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield _url_on(server, name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def migrated_database_url(folder: Path) -> AbstractContextManager[str]:
    """Create a database with all migrations and an API key, and yield its URL.

    With such a database, `serve` skips the preparations of a first start, which take long.
    """
    return fresh_database_url(folder, template=_migrated_url())


# The service whose database is the template for copies.
templates: list[Service] = []


@cache
def _migrated_url() -> str:
    """Return the URL of the template, after it has got an API key."""
    templates[-1].create_key()
    return templates[-1].environment["DATABASE_URL"]


def url_of_the_test_database() -> str:
    name = str(connection.settings_dict["NAME"])
    return f"sqlite:///{name}" if connection.vendor == "sqlite" else _url_on(os.environ["DATABASE_URL"], name)


def _url_on(server: str, name: str) -> str:
    """Return the URL of another database on the same PostgreSQL server."""
    url = re.sub(r"^postgres(ql)?://", "postgresql://", server)
    return re.sub(_NAME, rf"\g<1>{name}\g<3>", url)
