"""From `DATABASE_URL` to Django's database settings."""

from pathlib import Path
from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

EXAMPLE = "postgres://user:password@db.example.com:5432/petservice"

# What libpq calls the parts for which Django has a setting of its own.
_LIBPQ_NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


def database_settings(url: str, *, data_dir: Path) -> dict[str, Any]:
    """Django's settings for the database that `url` names; an empty one means SQLite in `data_dir`.

    Raises ValueError, with a sentence that says what to write, for any other engine or a malformed URL.
    """
    if not url:
        return _sqlite(data_dir / "petservice.sqlite3")
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme == "sqlite":
        # Without the third stroke it names a host, not a file.
        return _sqlite(Path(url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else ""))
    if scheme in ("postgres", "postgresql"):
        return _postgresql(url)
    raise ValueError(
        f"DATABASE_URL begins with {scheme + '://' if scheme else 'no scheme'!r}, but only SQLite and PostgreSQL are "
        f"supported: leave it out for SQLite, or write for example {EXAMPLE}"
    )


def _sqlite(path: Path) -> dict[str, Any]:
    if path.name in ("", ":memory:"):
        raise ValueError(
            "DATABASE_URL must name a file for SQLite, for example sqlite:////var/lib/petservice/pets.sqlite3"
        )
    return {
        "ENGINE": "petservice.db.sqlite",
        "NAME": path,
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            # A transaction that reads and then writes would meet "database is locked" at once, whatever the
            # time-out, had another written in between. One that begins as a writer queues instead.
            "transaction_mode": "IMMEDIATE",
            "timeout": 5,  # seconds to queue for the write lock
            # FULL: an acknowledged write survives a power cut; NORMAL loses some in WAL mode.
            # recursive_triggers: without it REPLACE deletes rows behind the back of the inventory's triggers.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA recursive_triggers=ON",
        },
        # The tests use several threads and processes, which a database in memory does not serve.
        "TEST": {"NAME": str(path.with_name(f"test-{path.name}"))},
    }


def _postgresql(url: str) -> dict[str, Any]:
    try:
        # libpq's own reading of the URL knows several hosts, sockets and its options.
        options: dict[str, Any] = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except ProgrammingError:
        # libpq's message repeats the URL, and with it the password.
        raise ValueError(f"DATABASE_URL is not a PostgreSQL URL; write for example {EXAMPLE}") from None
    settings = {django: options.pop(libpq, "") for libpq, django in _LIBPQ_NAMES.items()}
    if not settings["NAME"]:
        raise ValueError(f"DATABASE_URL names no database; write for example {EXAMPLE}")
    options.setdefault("application_name", "petservice")
    options.setdefault("connect_timeout", "5")  # seconds; a server that is away must not hold a call for long
    # Milliseconds after which a connection is dead whose other side does not even acknowledge what it was sent.
    options.setdefault("tcp_user_timeout", "5000")
    if "," in settings["HOST"]:
        # Of several servers, the one that takes writes: after a promotion, the new one.
        options.setdefault("target_session_attrs", "read-write")
    return {
        "ENGINE": "petservice.db.postgresql",
        **settings,
        "CONN_MAX_AGE": None,  # each thread keeps its own, so there are no more than threads
        "CONN_HEALTH_CHECKS": True,  # one that died with its server is replaced before a page meets it
        "OPTIONS": options,
    }
