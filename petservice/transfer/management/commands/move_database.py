import signal
import time
from argparse import ArgumentParser
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connections, transaction
from django.db.models import Model

from pets.management.terminal import all_or_nothing, end_like_ctrl_c, progress
from pets.models import Pet
from petservice.db.backend import backend
from petservice.db.pending_migrations import DatabaseCommand
from petservice.db.sqlite.base import MOVED, exclude_services
from petservice.db.url import database_settings
from petservice.transfer import copying, sqlite_file
from store.models import InventoryCounter
from store.services import inventory_counts

_SOURCE, _TARGET = DEFAULT_DB_ALIAS, "move_database"
# Seconds between two checks whether the service still runs.
_INTERVAL = 0.2
# The number of other connections of this service: they have the same application name.
_SERVICES = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
AND application_name = current_setting('application_name')
"""


class Command(DatabaseCommand):
    help = (
        "Move all data to an empty database: from SQLite to PostgreSQL, or back. Writers are locked out until it ends. "
        "A running service can go on reading; stop it when this command says so."
    )

    _is_complete = False  # whether the copy waits for nothing but its commit

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--to",
            required=True,
            metavar="URL",
            help="The new database: postgres://user@host/name, which may be empty or migrated, or sqlite:////new/file.",
        )

    def handle(self, *args: Any, to: str, **options: Any) -> None:
        started = time.monotonic()
        self._connect(to)
        end_like_ctrl_c()
        with ExitStack() as services:
            with all_or_nothing("moved"):
                try:
                    self._move(copying.moved_models(), services)
                except BlockingIOError:
                    raise CommandError("Another process uses the target. Nothing was moved.") from None
                except OperationalError as error:
                    if not self._is_complete or connections[_TARGET].vendor == "sqlite":
                        raise
                    raise CommandError(
                        f"PostgreSQL has not confirmed that it has stored all data: {str(error).strip()}. Run the "
                        "command again. If it finds records in the target then, all data has moved: start no service "
                        "on the old database."
                    ) from None
            self._retire()
        seconds = time.monotonic() - started
        self.stderr.write(f"Moved in {seconds:.1f} s. Start the service with the new DATABASE_URL.", self.style.SUCCESS)

    def _connect(self, url: str) -> None:
        try:
            target = database_settings(url, data_dir=settings.DATA_DIR)
        except ValueError as error:
            raise CommandError(str(error).replace("DATABASE_URL", "--to")) from None
        source = connections[_SOURCE].settings_dict
        if all(source[name] == target.get(name, "") for name in ("NAME", "HOST", "PORT")):
            raise CommandError("The target is the database of the service. Nothing was moved: name another one.")
        both = {DEFAULT_DB_ALIAS: settings.DATABASES[DEFAULT_DB_ALIAS], _TARGET: target}
        connections.databases[_TARGET] = connections.configure_settings(both)[_TARGET]

    def _retire(self) -> None:
        """Rename the file of the old database. If this fails, the data has moved all the same."""
        database = connections[_SOURCE]
        if database.vendor != "sqlite":
            return
        path = Path(database.settings_dict["NAME"]).resolve()
        try:
            sqlite_file.close_log(database)
            retired = path.rename(f"{path}{MOVED}")  # replaces an older such file
            self.stderr.write(f"The old database is now {retired}, so that no service starts on it by mistake.")
        except (DatabaseError, OSError) as error:
            name = database.settings_dict["NAME"]
            self.stderr.write(f"{name} cannot be renamed ({error}). Start no service on it: its data has moved.")

    def _move(self, models: list[type[Model]], services: ExitStack) -> None:
        """Copy all rows, and enter a context into `services` that keeps them from the source."""
        target = connections[_TARGET]
        # In PostgreSQL, others see the rows when the transaction ends.
        with sqlite_file.filled_at_once(target) if target.vendor == "sqlite" else nullcontext():
            copying.prepare(_TARGET, models)
            total = sum(copying.rows_of(_SOURCE, model).count() for model in models)
            with (
                transaction.atomic(_SOURCE),
                transaction.atomic(_TARGET),
                progress("Copying", total, unit=" rows") as bar,
            ):
                for alias in (_SOURCE, _TARGET):
                    backend(alias).lock_out_writers([model._meta.db_table for model in models])
                    if not backend(alias).try_lock("move_database", 0):  # two moves would wait for each other
                        raise CommandError("Another move uses the same database. Nothing was moved: wait for that one.")
                # This trigger would give the time of the move to pets of which it is unknown when they were sold.
                with copying.without_trigger(_TARGET, Pet, "pets_sold_insert"):
                    copied = copying.copy(_SOURCE, _TARGET, models, bar.update)
                bar.set_description("Comparing")
                bar.reset()
                self._compare(copied, copying.summarise(_TARGET, models, bar.update))
                bar.close()
                self._wait_for_the_services(services)
                # An interrupted commit may have stored everything, and the old file still has to be renamed.
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                self._is_complete = True

    def _compare(self, copied: list[copying.Summary], found: list[copying.Summary]) -> None:
        """Print a line for each table. Raises CommandError if the copy differs."""
        for one, other in zip(copied, found, strict=True):
            _require_equal(one.table, one, other)
            self.stderr.write(f"{one.table:40} {one.rows:>11,} rows, equal in both databases")
        table = InventoryCounter._meta.db_table
        _require_equal(table, inventory_counts(_SOURCE), inventory_counts(_TARGET))
        self.stderr.write(f"{table:40} {'':>11} sums, equal in both databases")

    def _wait_for_the_services(self, services: ExitStack) -> None:
        """Wait until no service uses the source. Until then its writers are locked out, so that no write is lost."""
        self.stderr.write("The copy is complete. Stop the service now if it runs: its writers wait until then.")
        while True:
            try:
                services.enter_context(_without_services())
                return
            except BlockingIOError:
                time.sleep(_INTERVAL)


def _without_services() -> AbstractContextManager[None]:
    """Return a context in which no service starts on a SQLite source. Raises BlockingIOError if one uses the source."""
    source = connections[_SOURCE]
    if source.vendor == "sqlite":
        return exclude_services(Path(source.settings_dict["NAME"]))
    with source.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction, PostgreSQL shows the same again
        cursor.execute(_SERVICES)
        if cursor.fetchone() != (0,):
            raise BlockingIOError
    return nullcontext()


def _require_equal(table: str, one: object, other: object) -> None:
    if one != other:
        raise CommandError(f"The table {table} differs after the copy. Nothing was moved.")
