"""The checks of an installation, for the command `doctor` and its page in the admin."""

import os
import resource
import shutil
import sqlite3
import ssl
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from platform import python_version
from tempfile import gettempdir
from time import time
from typing import NamedTuple

import django
from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.core.checks import run_checks
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from petservice import __version__
from petservice.admin_pages.staff_page import staff_page
from petservice.configuration.certificates import FEW_DAYS, end_of_certificate
from petservice.configuration.effective import effective_settings
from petservice.db.backend import backend
from petservice.db.pending_migrations import pending_migrations, pending_migrations_message
from petservice.db.postgresql.base import UnsuitableDatabaseError
from petservice.db.sqlite.base import MOVED
from petservice.journal.models import Event
from petservice.monitoring.database_calls import DATABASE_STATE
from store.services import inventory_drift

# Below these numbers of bytes, an operator has to act soon, or at once.
_LITTLE_SPACE, _TOO_LITTLE_SPACE = 2 * 1024**3, 200 * 1024**2
# Bytes of shared memory that the metrics of 16 workers take.
_METRICS_BYTES = 16 * 1024**2
# Number of files that a worker opens for its connections, databases and uploads.
_OPEN_FILES = 1200
_CLOCK_DIFFERENCE = timedelta(seconds=2)
_BACKUP_AGE = timedelta(hours=26)
# Seconds for which the page repeats that the counters are right, because a count reads all pets; `doctor` counts.
_COUNT_MAX_AGE = 3600
# Settings of PostgreSQL without which a crash can lose what the service has acknowledged.
_DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
# What to do about a check that fails, by its name.
_ADVICE = {
    "certificate": "Write both files again: a certificate and its private key.",
    "counters": "Correct what else is wrong. If nothing is, see what holds a lock on the table of pets.",
    "redis": "Limits of keys are not enforced. See whether Redis runs at REDIS_URL and has memory.",
}
_ARCHIVER = """
SELECT current_setting('archive_mode'), coalesce(to_char(last_archived_time, 'YYYY-MM-DD HH24:MI TZ'), 'never'),
coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) FROM pg_stat_archiver
"""
# The tables of the service whose rows the role of the connection may not read and write.
_REFUSED_TABLES = """
SELECT string_agg(DISTINCT relname, ', ') FROM pg_class, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS privilege
WHERE relname = ANY(%s) AND pg_table_is_visible(pg_class.oid) AND NOT has_table_privilege(pg_class.oid, privilege)
"""


class Finding(NamedTuple):
    """What a check found out about its subject; the level is "error", "warning" or "ok"."""

    subject: str
    level: str
    text: str
    advice: str | None = None


def findings() -> list[Finding]:
    """Return the findings of all checks, the worst first."""
    found = [Finding(str(error.id), "error", str(error.msg), error.hint) for error in run_checks(tags=["petservice"])]
    checks: list[Callable[[], Iterable[Finding]]] = [version, disk, memory, files, certificate, redis]
    of_database = [database, migrations, counters, clock]
    (checks if connection.vendor == "sqlite" else of_database).append(backup)
    path = Path(connection.settings_dict["NAME"])
    # Not Path.exists, which raises an error if this account may not look into the directory.
    is_missing = not any(map(os.path.exists, (path, Path(f"{path.resolve()}{MOVED}"))))
    if connection.vendor == "sqlite" and is_missing:
        # SQLite would create it now, perhaps for another user than that of the service.
        if os.access(path.parent, os.W_OK):
            text, advice = f"There is no database yet: {path}.", "The command serve creates it."
            found.append(Finding("database", "warning", text, advice))
        else:
            text = f"This account neither finds nor can create {path}."
            advice = "Make its directory, and let the account of the service own it."
            found.append(Finding("database", "error", text, advice))
    elif connection.vendor != "unknown":  # of a DATABASE_URL or a data directory with an error above
        try:  # once, because a silent server takes seconds for each attempt
            connection.ensure_connection()
            checks += of_database
        except UnsuitableDatabaseError as error:
            found.append(Finding("pooler", "error", str(error)))
        except Exception as error:
            text = f"The database cannot be used: {str(error).strip()}"
            advice = "Check DATABASE_URL, whether the server runs and has connections left, and who owns the file."
            found.append(Finding("database", "error", text, advice))
    for check in checks:
        try:
            found += check()
        except Exception as error:  # a check must not hide the results of the others
            text = f"This cannot be checked: {str(error).strip()}"
            found.append(Finding(check.__name__, "error", text, _ADVICE.get(check.__name__)))
    return sorted(found, key=lambda one: (("error", "warning", "ok").index(one.level), one.subject))


def installation_page(request: HttpRequest) -> HttpResponse:
    """Show administrators the findings and the settings."""
    if not request.user.is_superuser:
        raise PermissionDenied
    context = {"findings": findings(), "settings": effective_settings()}
    return staff_page(request, "backoffice/installation.html", "Installation", context)


def version() -> Iterator[Finding]:
    text = f"petservice {__version__}, Django {django.__version__}, Python {python_version()}, {settings.ENVIRONMENT}."
    yield Finding("version", "ok", text)


def database() -> Iterator[Finding]:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            path = Path(connection.settings_dict["NAME"])
            text = f"SQLite {sqlite3.sqlite_version}, {path}, {filesizeformat(path.stat().st_size)}."
            yield Finding("database", "ok", text)
            if not backend().is_writable():
                text = "This account cannot write the database and its directory."
                yield Finding("database", "error", text, "Let the account of the service own both.")
            return
        cursor.execute("SELECT name, setting FROM pg_settings")
        values = dict(cursor.fetchall())
        cursor.execute(DATABASE_STATE["postgresql"])
        size, used, _, most = cursor.fetchone()
        tables = [model._meta.db_table for model in apps.get_models(include_auto_created=True)]
        cursor.execute(_REFUSED_TABLES, [tables])
        (refused,) = cursor.fetchone()
    text = f"PostgreSQL {values['server_version']}, {filesizeformat(size)}, {used} of {most} connections."
    advice = "Raise max_connections, or run fewer workers (WEB_CONCURRENCY)."
    yield _graded("database", text, advice, warning=used > 0.8 * most)
    # Each new connection is checked, so this one would not exist.
    yield Finding("pooler", "ok", "Connections to PostgreSQL have the timeouts of the service.")
    if values["transaction_read_only"] == "on":
        advice = "Name the primary in DATABASE_URL, or turn default_transaction_read_only off."
        yield Finding("database", "error", "The server takes no writes of the service.", advice)
    if refused:
        advice = "As the owner of the tables, run the GRANT of the guide, under “Two roles”."
        yield Finding("role", "error", f"The role of DATABASE_URL may not read and write {refused}.", advice)
    for name in _DURABLE:
        if values[name] == "off":
            text = f"{name} is off, so a crash of the server can lose pets that clients have created."
            yield Finding("database", "error", text, f"Set {name} = on in postgresql.conf, and reload the server.")
    if values["autovacuum"] == "off":
        yield Finding("database", "warning", "autovacuum is off, so tables grow without end.", "Set autovacuum = on.")


def migrations() -> Iterator[Finding]:
    pending = pending_migrations()
    text = pending_migrations_message(pending) if pending else "The database has all migrations."
    yield _graded("migrations", text, None, error=bool(pending))


def counters() -> Iterator[Finding]:
    counted_at, drift = cache.get("inventory-drift") or (timezone.now(), inventory_drift())
    if not drift:  # a correction is seen at once
        cache.add("inventory-drift", (counted_at, drift), _COUNT_MAX_AGE)
    wrong = [f"{status} by {number:+,}" for status, number in drift.items()]
    equal = f"equals a count of all pets at {counted_at:%H:%M} UTC"
    text = f"differs from the pets: {', '.join(wrong)}" if wrong else equal
    yield _graded("counters", f"The inventory {text}.", "Run the command reconcile_inventory.", error=bool(wrong))


def clock() -> Iterator[Finding]:
    now = timezone.now()
    newest = Event.objects.aggregate(at=Max("at"))["at"] or now
    is_behind = newest > now + _CLOCK_DIFFERENCE
    text = f"{now:%Y-%m-%d %H:%M:%S} UTC."
    if is_behind:
        text = f"The clock is behind the last event of the audit, of {newest:%Y-%m-%d %H:%M} UTC."
    yield _graded("clock", text, "Keep the clock of each machine by NTP.", warning=is_behind)


def disk() -> Iterator[Finding]:
    folders = {Path(settings.DATA_DIR), Path(gettempdir())}
    if connection.vendor == "sqlite":  # DATABASE_URL may name another folder
        folders.add(Path(connection.settings_dict["NAME"]).parent)
    for folder in folders:
        existing = next(one for one in (folder, *folder.parents) if one.exists())
        free = shutil.disk_usage(existing).free
        yield _graded(
            "disk",
            f"{filesizeformat(free)} are free for {folder}.",
            "Delete old backups and logs, or enlarge the disk.",
            error=free < _TOO_LITTLE_SPACE,
            warning=free < _LITTLE_SPACE,
        )


def memory() -> Iterator[Finding]:
    free = shutil.disk_usage("/dev/shm").free  # noqa: S108  # the place of the metrics
    advice = "Enlarge /dev/shm (docker run --shm-size), or metrics are missing."
    yield _graded("memory", f"{filesizeformat(free)} of shared memory are free.", advice, warning=free < _METRICS_BYTES)


def files() -> Iterator[Finding]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # the service raises the soft limit itself
    text = "A process may open any number of files." if hard < 0 else f"A process may open {hard:,} files."
    advice = f"Raise the limit to {_OPEN_FILES:,} (LimitNOFILE of systemd)."
    yield _graded("files", text, advice, warning=0 <= hard < _OPEN_FILES)


def certificate() -> Iterator[Finding]:
    if path := os.environ.get("TLS_CERTFILE"):
        # A start fails if the key is that of another certificate. An encrypted one must not ask for its password here.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path, os.environ.get("TLS_KEYFILE") or None, password="")
        days = (end_of_certificate(path) - time()) / 86_400
        state = "has expired" if days < 0 else f"is valid for {days:.0f} more days"
        advice = "Renew it, and send SIGHUP to the service."
        is_urgent = days < FEW_DAYS
        yield _graded("certificate", f"The certificate in {path} {state}.", advice, error=days < 0, warning=is_urgent)


def redis() -> Iterator[Finding]:
    if settings.REDIS_URL:
        from petservice.apikeys.request_counter import RequestCounter  # loads the Redis client, so only if needed

        began = time()
        # As a request below its limit does, because a full Redis and a replica answer a ping as well.
        RequestCounter(settings.REDIS_URL).script(keys=["petservice:requests:doctor"], args=[1000])
        yield Finding("redis", "ok", f"Redis answers in {1000 * (time() - began):.1f} ms.")


def backup() -> Iterator[Finding]:
    if connection.vendor == "postgresql":  # the service does not see the backups of pg_dump
        with connection.cursor() as cursor:
            cursor.execute(_ARCHIVER)
            mode, archived, fails = cursor.fetchone()
        text = (
            f"PostgreSQL {'cannot archive' if fails else 'archives'} its log. The last file was archived: {archived}."
        )
        if mode == "off":
            text = "PostgreSQL does not archive its log, so pg_dump has to make the backups."
        advice = "See the log of the server for the cause, before its disk is full."
        yield _graded("backup", text, advice, error=fails and mode != "off")
        return
    text, is_missing = "No backup was made yet.", True
    if settings.LAST_BACKUP.exists():
        age = timedelta(seconds=max(0, time() - settings.LAST_BACKUP.stat().st_mtime))
        text = f"The last backup was made {age.total_seconds() / 3600:.0f} hours ago."
        is_missing = age > _BACKUP_AGE
    yield _graded("backup", text, "Run the command backup_database each day.", warning=is_missing)


def _graded(subject: str, text: str, advice: str | None, *, error: bool = False, warning: bool = False) -> Finding:
    """Return a finding of the level that the conditions say, with the advice unless all is in order."""
    level = "error" if error else "warning" if warning else "ok"
    return Finding(subject, level, text, advice if error or warning else None)
