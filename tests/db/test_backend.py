"""Both databases provide operations that Django does not have (petservice.db.backend)."""

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, transaction

from petservice.db.backend import backend
from petservice.db.postgresql.base import _MIGRATION_LOCK
from petservice.db.sqlite.base import exclude_services
from tests.concurrent_write import on_a_connection, only_on_postgresql, second_connection
from tests.service import manage
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

# The number of sessions that are requesting the lock, or did so in their last statement.
ATTEMPTS = (
    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_%advisory_lock(%' AND pid <> pg_backend_pid()"
)


def lock_migrations() -> None:
    with backend().migration_lock():
        pass


@pytest.fixture
def other() -> Iterator[ThreadPoolExecutor]:
    """A thread, which gets a database connection of its own, in place of a second process."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_one_process_at_a_time_migrates_also_after_a_failure(other: ThreadPoolExecutor) -> None:
    with pytest.raises(ZeroDivisionError), backend().migration_lock():
        raise ZeroDivisionError
    other.submit(on_a_connection, lock_migrations).result(timeout=30)

    with backend().migration_lock():
        waiting = other.submit(on_a_connection, lock_migrations)
        # A process that gets the lock needs less time than this.
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.5)
    waiting.result(timeout=30)


def test_a_look_at_pending_migrations_does_not_wait(other: ThreadPoolExecutor) -> None:
    with backend().migration_lock():
        for option in ("--check", "--plan"):
            other.submit(on_a_connection, lambda option=option: call_command("migrate", option)).result(timeout=30)


@pytest.mark.once
def test_others_may_open_the_lock_of_a_file_that_a_strict_account_has_created(tmp_path: Path) -> None:
    before = os.umask(0o077)  # as root may have it, who runs a command before the first start of the service
    try:
        with exclude_services(tmp_path / "pets.sqlite3"):
            assert (tmp_path / "pets.sqlite3.service").stat().st_mode & stat.S_IROTH
    finally:
        os.umask(before)


@only_on_postgresql
def test_process_that_waits_for_migrations_does_not_block_their_indexes(other: ThreadPoolExecutor) -> None:
    with second_connection(autocommit=True) as first:
        first.execute("SELECT pg_advisory_lock(%s)", [_MIGRATION_LOCK])
        waiting = other.submit(on_a_connection, lock_migrations)
        wait_until(lambda: first.execute(ATTEMPTS).fetchone()[0])
        first.execute("SET statement_timeout = '10s'")
        first.execute("CREATE INDEX CONCURRENTLY passing ON pets_pet (name)")
        first.execute("DROP INDEX passing")
        assert not waiting.done()
        first.execute("SELECT pg_advisory_unlock(%s)", [_MIGRATION_LOCK])
        waiting.result(timeout=30)


@only_on_postgresql
def test_lock_with_a_name_and_a_number_lasts_until_its_transaction_ends(other: ThreadPoolExecutor) -> None:
    def try_both() -> list[bool]:
        with transaction.atomic():
            return [backend().try_lock("key", 1), backend().try_lock("key", 2)]

    with transaction.atomic():
        assert backend().try_lock("key", 1)
        assert other.submit(on_a_connection, try_both).result(timeout=30) == [False, True]
    assert other.submit(on_a_connection, try_both).result(timeout=30) == [True, True]


@only_on_postgresql
def test_import_updates_the_statistics_of_the_table(tmp_path: Path) -> None:
    file = tmp_path / "pets.csv"
    file.write_text("name\nRex\nKit\nTom\n")

    call_command("import_pets", str(file))

    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'pets_pet'")
        assert cursor.fetchone() == (3,)


@only_on_postgresql
def test_import_does_not_wait_for_a_concurrent_index_build(migrated_url: str, tmp_path: Path) -> None:
    file = tmp_path / "pets.csv"
    file.write_text("name\nRex\n")
    options = f"{'&' if '?' in migrated_url else '?'}options=-c%20lock_timeout%3D2s"
    with psycopg.connect(migrated_url) as indexing:
        indexing.execute("LOCK TABLE pets_pet IN SHARE UPDATE EXCLUSIVE MODE")

        imported = manage("import_pets", str(file), DATABASE_URL=migrated_url + options)

    assert imported.returncode == 0, imported.stderr


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has no file of the service")
def test_file_that_is_moved_while_it_is_in_use_is_not_replaced_by_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "pets.sqlite3"
    first, second = connection.copy(), connection.copy()
    first.settings_dict = second.settings_dict = connection.settings_dict | {"NAME": path}
    with closing(first):
        first.cursor().execute("CREATE TABLE pet (name)")
        path.rename(tmp_path / "moved")

        for _ in range(2):
            with pytest.raises(OperationalError, match="was moved or deleted while it is in use"):
                second.connect()
            first._opened.discard(path)  # as in another process, which a command or a new service is

    assert not path.exists()
