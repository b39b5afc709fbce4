"""The conversion of `DATABASE_URL` into Django's database settings."""

from pathlib import Path
from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

EXAMPLE = "postgres://user:password@db.example.com:5432/petservice"
_SQLITE_EXAMPLE = "sqlite:////var/lib/petservice/pets.sqlite3"

# The libpq names of the parts for which Django has a setting.
_LIBPQ_NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


def database_settings(url: str, *, data_dir: Path) -> dict[str, Any]:
    """Return Django's settings for the database of a URL; an empty URL means SQLite in `data_dir`.

    Raises ValueError for another engine or a malformed URL. The message says what to write instead.
    """
    if not url:
        return _sqlite(data_dir / "petservice.sqlite3")
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme == "sqlite":
        # With two slashes instead of three, the URL names a host, not a file. Parameters would be a part of the name.
        is_file = url.startswith("sqlite:///") and "?" not in url
        return _sqlite(Path(url.removeprefix("sqlite:///") if is_file else ""))
    if scheme in ("postgres", "postgresql"):
        return _postgresql(url)
    raise ValueError(
        f"DATABASE_URL begins with {scheme + '://' if scheme else 'no scheme'!r}, but only SQLite and PostgreSQL are "
        f"supported: write for example {EXAMPLE} or {_SQLITE_EXAMPLE}"
    )


def _sqlite(path: Path) -> dict[str, Any]:
    if path.name in ("", ":memory:"):
        raise ValueError(f"DATABASE_URL must name a file for SQLite, without parameters, for example {_SQLITE_EXAMPLE}")
    return {
        "ENGINE": "petservice.db.sqlite",
        "NAME": path,
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            # A transaction that begins as a writer queues. One that reads first and writes later fails immediately
            # with "database is locked" if another one has written in between, because the timeout does not apply.
            "transaction_mode": "IMMEDIATE",
            "timeout": 5,  # seconds to queue for the write lock
            # FULL: an acknowledged write survives a power cut. NORMAL loses some in WAL mode.
            # recursive_triggers: without it, REPLACE deletes rows and fires no trigger, so the inventory is wrong.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA recursive_triggers=ON",
        },
        # The tests use several threads and processes, and these cannot share a database in memory.
        "TEST": {"NAME": str(path.with_name(f"test-{path.name}"))},
    }


def _postgresql(url: str) -> dict[str, Any]:
    try:
        # libpq's own parser supports several hosts, sockets and all connection options.
        options: dict[str, Any] = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except ProgrammingError:
        # libpq's message repeats the URL, and with it the password.
        raise ValueError(f"DATABASE_URL is not a PostgreSQL URL; write for example {EXAMPLE}") from None
    settings = {django: options.pop(libpq, "") for libpq, django in _LIBPQ_NAMES.items()}
    if settings["PORT"].strip("0123456789,"):  # a part of a password with a slash
        raise ValueError(f"DATABASE_URL has a port that is no number; write for example {EXAMPLE}, and / as %2F")
    if not settings["NAME"]:
        raise ValueError(f"DATABASE_URL names no database; write for example {EXAMPLE}")
    options.setdefault("application_name", "petservice")
    # Seconds for each host, so that an unavailable server fails a request soon.
    options.setdefault("connect_timeout", "2" if "," in settings["HOST"] else "5")
    # Milliseconds without an acknowledgement from the other side, after which a connection counts as dead.
    options.setdefault("tcp_user_timeout", "5000")
    if "," in settings["HOST"]:
        # Connect to the server that accepts writes. After a failover that is the new primary.
        options.setdefault("target_session_attrs", "read-write")
    return {
        "ENGINE": "petservice.db.postgresql",
        **settings,
        "CONN_MAX_AGE": None,  # each thread keeps its own, so there are no more connections than threads
        "CONN_HEALTH_CHECKS": True,  # a connection that died with its server is replaced before a page uses it
        "OPTIONS": options,
    }
