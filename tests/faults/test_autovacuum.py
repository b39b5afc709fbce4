"""autovacuum bounds the rows of the inventory counters over days whose backups keep dead rows."""

import os
from pathlib import Path

import psycopg
import pytest

from tests.faults.servers import Server, primary
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

# Each day a transaction is open during so many inserts, as that of pg_dump is.
DAYS = 5
INSERTS = int(os.environ.get("TEST_INSERTS", 1000))

INSERT_ONE_AFTER_THE_OTHER = f"""
DO $$ BEGIN
    FOR number IN 1 .. {INSERTS} LOOP
        INSERT INTO pets_pet (id, name, status, created_at, created_through)
        VALUES (gen_random_uuid(), 'Rex', 'available', now(), 'api');
        COMMIT;
    END LOOP;
END $$
"""
SIZE = "SELECT pg_relation_size('store_inventorycounter') + pg_indexes_size('store_inventorycounter')"
DEAD_ROWS = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'store_inventorycounter'"


def sizes_after_days(server: Server, *, is_cleaned: bool) -> list[int]:
    """Return the bytes of the counters after each day, and wait at the end of each until the dead rows are removed."""
    sizes = []
    with psycopg.connect(server.url, autocommit=True) as database:

        def value(query: str) -> int:
            (number,) = database.execute(query).fetchone()
            return number

        for _ in range(DAYS):
            with psycopg.connect(server.url) as backup:
                backup.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                backup.execute("SELECT 1")
                database.execute(INSERT_ONE_AFTER_THE_OTHER)
                wait_until(lambda: value(DEAD_ROWS) >= INSERTS - 1)
            if is_cleaned:
                wait_until(lambda: value(DEAD_ROWS) < INSERTS // 10)
            sizes.append(value(SIZE))
        assert value("SELECT sum(count) FROM store_inventorycounter") == DAYS * INSERTS
    print(sizes)  # for postgresql.md
    return sizes


def test_dead_rows_of_the_counters_are_removed_and_their_space_is_used_again(cluster: Path) -> None:
    # The defaults, but for the pause of a minute, because a day takes seconds here.
    with primary(cluster, autovacuum_naptime="1s") as server:
        sizes = sizes_after_days(server, is_cleaned=True)
    assert max(sizes) < 2 * sizes[0]

    with primary(cluster, autovacuum="off") as server:
        grown = sizes_after_days(server, is_cleaned=False)
    assert grown == sorted(set(grown))
    assert grown[-1] > 2 * max(sizes)
