"""Both databases provide operations that Django does not have (petservice.db.backend)."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from pets.fields import new_pet_id
from pets.models import Pet
from petservice.db.backend import backend
from petservice.db.postgresql.base import _MIGRATION_LOCK
from store.services import inventory_counts
from tests.concurrent_write import on_a_connection, only_on_postgresql
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

# The number of sessions that are requesting the lock, or did so in their last statement.
ATTEMPTS = (
    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_%advisory_lock(%' AND pid <> pg_backend_pid()"
)


class Other:
    """A thread with a database connection of its own, in place of a second process."""

    def __init__(self) -> None:
        self.has_lock = threading.Event()
        self.may_unlock = threading.Event()

    def migrate(self) -> None:
        with backend().migration_lock():
            self.has_lock.set()
            self.may_unlock.wait(30)


@contextmanager
def migrating(other: Other) -> Iterator[Future[None]]:
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(on_a_connection, other.migrate)
        try:
            yield future
        finally:
            other.may_unlock.set()
            future.result(timeout=30)


def test_one_process_at_a_time_migrates() -> None:
    one, two = Other(), Other()
    with migrating(one):
        assert one.has_lock.wait(10)
        with migrating(two):
            # A process that gets the lock needs less time than this to set the event.
            assert not two.has_lock.wait(0.5)
            one.may_unlock.set()
            assert two.has_lock.wait(10)


def test_failed_migration_releases_the_lock() -> None:
    with pytest.raises(ZeroDivisionError), backend().migration_lock():
        raise ZeroDivisionError
    other = Other()
    with migrating(other):
        assert other.has_lock.wait(10)


def second_connection() -> psycopg.Connection:
    """Connect to the test database with the driver, without Django."""
    server = connection.connection.info
    return psycopg.connect(server.dsn, password=server.password, autocommit=True)


@only_on_postgresql
def test_process_that_waits_for_migrations_does_not_block_their_indexes() -> None:
    connection.ensure_connection()
    other = Other()
    with closing(second_connection()) as first:
        first.execute("SELECT pg_advisory_lock(%s)", [_MIGRATION_LOCK])
        with migrating(other):
            wait_until(lambda: first.execute(ATTEMPTS).fetchone()[0])
            first.execute("SET statement_timeout = '10s'")
            first.execute("CREATE INDEX CONCURRENTLY passing ON pets_pet (name)")
            first.execute("DROP INDEX passing")
            assert not other.has_lock.is_set()
            first.execute("SELECT pg_advisory_unlock(%s)", [_MIGRATION_LOCK])
            assert other.has_lock.wait(10)


@only_on_postgresql
def test_lock_with_a_name_and_a_number_lasts_until_its_transaction_ends() -> None:
    def try_both() -> list[bool]:
        with transaction.atomic():
            return [backend().try_lock("key", 1), backend().try_lock("key", 2)]

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert backend().try_lock("key", 1)
            assert pool.submit(on_a_connection, try_both).result(timeout=30) == [False, True]
        assert pool.submit(on_a_connection, try_both).result(timeout=30) == [True, True]


def test_copied_rows_are_part_of_the_transaction_and_are_counted() -> None:
    columns = ["id", "name", "tag", "status", "created_at", "created_through"]
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    names = ["Rex", "O'Kit \t\\ \n", "🐕"]
    batches = [[[new_pet_id(), name, None, "sold", now, ""] for name in part] for part in (names[:2], names[2:])]

    with transaction.atomic():
        backend().copy_rows("pets_pet", columns, batches)
        assert Pet.objects.count() == 3
        transaction.set_rollback(True)
    assert Pet.objects.count() == 0

    with transaction.atomic():
        backend().copy_rows("pets_pet", columns, batches)
    assert sorted(Pet.objects.values_list("name", flat=True)) == sorted(names)
    assert inventory_counts()["sold"] == 3


def test_writers_wait_until_the_transaction_ends() -> None:
    order: list[str] = []

    def write() -> None:
        Pet.objects.create(name="Rex")
        order.append("written")

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            backend().lock_out_writers(["pets_pet"])
            writing = pool.submit(on_a_connection, write)
            with pytest.raises(TimeoutError):
                writing.result(timeout=0.5)
            order.append("unlocked")
        writing.result(timeout=30)
    assert order == ["unlocked", "written"]
