"""The checks of an installation, for the command `doctor` and its page in the admin.

Their findings are messages as of Django's system checks; an Info is about something that is in order.
"""

import os
import resource
import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from platform import python_version
from tempfile import gettempdir
from time import time

import django
from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Warning, run_checks
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Count, Sum
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from pets.models import Pet
from petservice import __version__
from petservice.admin_pages.staff_page import staff_page
from petservice.configuration.certificates import end_of_certificate
from petservice.configuration.effective import effective_settings
from petservice.db.pending_migrations import missing_migrations, pending_migrations_message
from petservice.journal.models import Event
from store.models import InventoryCounter

# Below these numbers of bytes, an operator has to act soon, or at once.
_LITTLE_SPACE, _TOO_LITTLE_SPACE = 2 * 1024**3, 200 * 1024**2
# Bytes of shared memory that the metrics of 16 workers take.
_METRICS_BYTES = 16 * 1024**2
# Number of files that a worker opens for its connections, databases and uploads.
_OPEN_FILES = 1200
_CLOCK_DIFFERENCE = timedelta(seconds=2)
_BACKUP_AGE = timedelta(days=1, hours=12)
_CERTIFICATE_DAYS = 14
# Settings of PostgreSQL without which a crash can lose what the service has acknowledged.
_DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
_STATE = "SELECT pg_is_in_recovery(), pg_database_size(current_database()), count(*) FROM pg_stat_activity"

Check = Callable[[], Iterable[CheckMessage]]

_CHECKS: list[Check] = []


def _check(function: Check) -> Check:
    _CHECKS.append(function)
    return function


def run() -> list[CheckMessage]:
    """Return the findings of all checks, the worst first. Their ids are the subjects."""
    found = run_checks(tags=["petservice"])
    for check in _CHECKS:
        try:
            found += check()
        except Exception as error:  # a check must not hide the results of the others
            found.append(Error(f"This cannot be checked: {str(error).strip()}", id=check.__name__))
    return sorted(found, key=lambda one: (-one.level, str(one.id)))


def page(request: HttpRequest) -> HttpResponse:
    """Show administrators the findings and the settings."""
    if not (request.user.is_active and request.user.is_superuser):
        raise PermissionDenied
    context = {"checks": run(), "settings": effective_settings()}
    return staff_page(request, "backoffice/installation.html", "Installation", context)


def _is_absent() -> bool:
    """Return whether SQLite would create the database now, perhaps for another user than that of the service."""
    return connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists()


@_check
def version() -> Iterator[CheckMessage]:
    text = f"petservice {__version__}, Django {django.__version__}, Python {python_version()}, {settings.ENVIRONMENT}."
    yield Info(text, id="version")


@_check
def database() -> Iterator[CheckMessage]:
    path = Path(connection.settings_dict["NAME"])
    if _is_absent():
        yield Warning(f"There is no database yet: {path}.", "The command serve creates it.", id="database")
        return
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            (number,) = cursor.execute("SELECT sqlite_version()").fetchone()
            yield Info(f"SQLite {number}, {path}, {_size(path.stat().st_size)}.", id="database")
            return
        cursor.execute("SELECT name, setting FROM pg_settings")
        values = dict(cursor.fetchall())
        cursor.execute(_STATE)
        is_standby, size, used = cursor.fetchone()
    most = int(values["max_connections"]) - int(values["superuser_reserved_connections"])
    yield Info(f"PostgreSQL {values['server_version']}, {_size(size)}, {used} of {most} connections.", id="database")
    if is_standby:
        yield Error(
            "The server is a standby, which takes no writes.", "Name the primary in DATABASE_URL.", id="database"
        )
    for name in _DURABLE:
        if values[name] == "off":
            text = f"{name} is off, so a crash of the server can lose pets that clients have created."
            yield Error(text, f"Set {name} = on in postgresql.conf, and reload the server.", id="database")
    if values["autovacuum"] == "off":
        yield Warning("autovacuum is off, so tables grow without end.", "Set autovacuum = on.", id="database")
    if used > 0.8 * most:
        advice = "Raise max_connections, or run fewer workers (WEB_CONCURRENCY)."
        yield Warning(f"{used} of {most} connections of the server are in use.", advice, id="database")


@_check
def migrations() -> Iterator[CheckMessage]:
    if _is_absent():
        return
    if missing := missing_migrations():
        yield Error(pending_migrations_message(missing), id="migrations")
    else:
        yield Info("The database has all migrations.", id="migrations")


@_check
def counters() -> Iterator[CheckMessage]:
    if _is_absent():
        return
    # One statement, so that no pet is created between the two sums.
    stored = InventoryCounter.objects.values_list("status").annotate(number=Sum("count"))
    counted = Pet.objects.order_by().values_list("status").annotate(number=-Count("pk"))
    sums: dict[str, int] = {}
    for status, number in stored.union(counted, all=True):
        sums[status] = sums.get(status, 0) + number
    wrong = [f"{status} by {number:+,}" for status, number in sorted(sums.items()) if number]
    if wrong:
        text = f"The inventory differs from the pets: {', '.join(wrong)}."
        yield Error(text, "Run the command reconcile_inventory.", id="counters")
    else:
        yield Info("The inventory equals a count of all pets.", id="counters")


@_check
def clock() -> Iterator[CheckMessage]:
    now = timezone.now()
    if _is_absent():
        return
    newest = Event.objects.order_by("-at").values_list("at", flat=True).first() or now
    of_database = now
    if connection.vendor == "postgresql":
        of_database = InventoryCounter.objects.annotate(now=Now()).values_list("now", flat=True).first() or now
    if abs(of_database - now) > _CLOCK_DIFFERENCE:
        text = f"The clock differs from that of PostgreSQL by {(of_database - now).total_seconds():+.0f} s."
        yield Warning(text, "Keep both by NTP.", id="clock")
    elif newest > now + _CLOCK_DIFFERENCE:
        text = f"The clock is behind the last event of the audit, of {newest:%Y-%m-%d %H:%M} UTC."
        yield Warning(text, "Keep the clock by NTP.", id="clock")
    else:
        yield Info(f"{now:%Y-%m-%d %H:%M:%S} UTC.", id="clock")


@_check
def disk() -> Iterator[CheckMessage]:
    for folder in {Path(settings.DATA_DIR), Path(gettempdir())}:
        existing = next(one for one in (folder, *folder.parents) if one.exists())
        free = shutil.disk_usage(existing).free
        text = f"{_size(free)} are free for {folder}."
        advice = "Delete old backups and logs, or enlarge the disk."
        if free < _TOO_LITTLE_SPACE:
            yield Error(text, advice, id="disk")
        else:
            yield Warning(text, advice, id="disk") if free < _LITTLE_SPACE else Info(text, id="disk")


@_check
def memory() -> Iterator[CheckMessage]:
    free = shutil.disk_usage("/dev/shm").free  # noqa: S108  # the place of the metrics
    text = f"{_size(free)} of shared memory are free."
    if free < _METRICS_BYTES:
        yield Warning(text, "Enlarge /dev/shm (docker run --shm-size), or metrics are missing.", id="memory")
    else:
        yield Info(text, id="memory")


@_check
def files() -> Iterator[CheckMessage]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # the service raises the soft limit itself
    text = "A process may open any number of files." if hard < 0 else f"A process may open {hard:,} files."
    if 0 <= hard < _OPEN_FILES:
        yield Warning(text, f"Raise the limit to {_OPEN_FILES:,} (LimitNOFILE of systemd).", id="files")
    else:
        yield Info(text, id="files")


@_check
def certificate() -> Iterator[CheckMessage]:
    if path := os.environ.get("TLS_CERTFILE"):
        days = (end_of_certificate(path) - time()) / 86_400
        text = f"The certificate in {path} is valid for {days:.0f} more days."
        advice = "Renew it, and send SIGHUP to the service."
        if days < 0:
            yield Error(f"The certificate in {path} has expired.", advice, id="certificate")
        elif days < _CERTIFICATE_DAYS:
            yield Warning(text, advice, id="certificate")
        else:
            yield Info(text, id="certificate")


@_check
def redis() -> Iterator[CheckMessage]:
    if settings.REDIS_URL:
        from petservice.apikeys.request_counter import RequestCounter  # loads the Redis client, so only if needed

        began = time()
        RequestCounter(settings.REDIS_URL).redis.ping()
        yield Info(f"Redis answers in {1000 * (time() - began):.1f} ms.", id="redis")


@_check
def backup() -> Iterator[CheckMessage]:
    if connection.vendor != "sqlite":
        return  # PostgreSQL's own tools make its backups, and the service does not see them
    marker = settings.LAST_BACKUP
    if not marker.exists():
        yield Warning("No backup was made yet.", "Run the command backup_database each day.", id="backup")
        return
    age = timedelta(seconds=max(0, time() - marker.stat().st_mtime))
    text = f"The last backup was made {age.total_seconds() / 3600:.0f} hours ago."
    is_old = age > _BACKUP_AGE
    yield Warning(text, "Run the command backup_database each day.", id="backup") if is_old else Info(text, id="backup")


def _size(number: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"
