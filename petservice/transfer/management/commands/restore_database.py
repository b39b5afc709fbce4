import sqlite3
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model

from pets.models import Pet
from petservice.apikeys.models import APIKey
from petservice.db.backend import backend
from petservice.db.sqlite.base import create_for_owner, exclude_services
from petservice.journal.models import Event
from petservice.journal.recording import record_done
from petservice.transfer.sqlite_file import LOGS, require_account_of

# A database of this service has this table and this migration.
_MARK = "SELECT 1 FROM django_migrations WHERE app = 'pets' AND name = '0001_initial'"
# The records that a restore must not replace.
_RECORDS: dict[str, type[Model]] = {"pets": Pet, "API keys": APIKey, "accounts": get_user_model()}


class Command(BaseCommand):
    help = "Restore a backup of the SQLite database. No service may run, and the database must be empty or missing."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="A file that backup_database has written.")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if not backend().is_embedded:
            raise CommandError(
                "PostgreSQL has its own tool: "
                'pg_restore --exit-on-error --no-owner --dbname="$DATABASE_URL" FILE, into an empty database'
            )
        target = Path(connection.settings_dict["NAME"]).resolve()
        try:
            if not file.is_file():
                raise CommandError(f"There is no file {file}: name one that backup_database has written.")
            require_account_of(target.parent)
            with exclude_services(target), _checked(file) as (backup, counts):
                create_for_owner(target)
                target.chmod(0o600)
                with _locked(target) as database:
                    backup.backup(database)  # one transaction, which a crash undoes
                message = f"Backup restored by the command restore_database: {counts}."
                record_done(self, Event.Kind.RESTORED, "The database is restored.", message=message)
                connection.close()
        except BlockingIOError as error:
            raise CommandError(f"The service runs on {target}, or a restore does: stop it first.") from error
        except (OSError, sqlite3.Error) as error:
            raise CommandError(f"{target} cannot be restored, and is unchanged: {error}") from error
        self.stderr.write(f"{target}: {counts} from {file}. Start the service now.")


@contextmanager
def _locked(target: Path) -> Iterator[sqlite3.Connection]:
    """Keep all other processes from a database. Raises CommandError unless it is empty and unused."""
    with closing(_opened(target, "mode=rw")) as database:
        try:
            database.execute("PRAGMA busy_timeout = 0")
            database.execute("PRAGMA locking_mode = EXCLUSIVE")  # keeps the lock until the connection is closed
            database.execute("BEGIN EXCLUSIVE")
            counts = _Counts(database)
            database.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # the rest is the kind of busy
                raise CommandError(f"{target} cannot be opened ({error}): move it away.") from error
            raise CommandError(f"Another program uses {target}: stop it first.") from error
        except sqlite3.DatabaseError as error:
            raise CommandError(f"{target} exists, but is no database ({error}): move it away.") from error
        if counts.any or (counts.has_tables and not counts.is_ours):
            found = str(counts) if counts.any else "tables of another program"
            raise CommandError(
                f"{target} has data ({found}), and a restore would replace it: "
                "move it away together with its -wal, or set another PETSERVICE_DATA_DIR."
            )
        yield database


@contextmanager
def _checked(file: Path) -> Iterator[tuple[sqlite3.Connection, "_Counts"]]:
    """Open a backup, and count what it has. Raises CommandError if it is no backup."""
    if logs := [log for log in LOGS if Path(f"{file}{log}").exists() and Path(f"{file}{log}").stat().st_size]:
        raise CommandError(f"{file} is a database in use, not a backup, because it has a {logs[0]}: use a backup.")
    # Immutable: SQLite takes no lock, and makes no file next to this one.
    with closing(_opened(file, "mode=ro&immutable=1")) as backup:
        try:
            (verdict,) = backup.execute("PRAGMA integrity_check").fetchone()
            if verdict != "ok":
                raise CommandError(f"{file} is damaged: {verdict}. Use another backup.")
            counts = _Counts(backup)
            if not counts.is_ours:
                raise CommandError(
                    f"{file} is a database of another program: name one that backup_database has written."
                )
            applied = backup.execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()
        except sqlite3.DatabaseError as error:
            raise CommandError(f"{file} is damaged, or no backup: {error}. Use another backup.") from error
        loader = MigrationLoader(None)
        # The migrations of an app that is no longer installed count for nothing.
        known = [migration for migration in applied if migration[0] in loader.migrated_apps]
        if later := [f"{app}.{name}" for app, name in known if (app, name) not in loader.disk_migrations]:
            raise CommandError(
                f"{file} comes from a later version of the service, because it has the migration {later[-1]}: "
                "install that version first."
            )
        yield backup, counts


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)


class _Counts:
    """A count of the rows that a restore must not replace, by the kind of record."""

    def __init__(self, database: sqlite3.Connection) -> None:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        self.has_tables = bool(tables)
        self.is_ours = "django_migrations" in tables and bool(database.execute(_MARK).fetchone())
        self._rows = {
            kind: database.execute(f'SELECT count(*) FROM "{model._meta.db_table}"').fetchone()[0]  # noqa: S608  # our own names
            for kind, model in _RECORDS.items()
            if model._meta.db_table in tables
        }
        self.any = any(self._rows.values())

    def __str__(self) -> str:
        return ", ".join(f"{kind}: {number:,}" for kind, number in self._rows.items())
