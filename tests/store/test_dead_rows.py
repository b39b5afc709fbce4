"""Updates of the counters stay cheap while an old transaction keeps PostgreSQL from removing dead rows."""

import pytest
from django.db import connection

from pets.models import Pet
from tests.store.counts import assert_exact

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps no dead rows"),
    pytest.mark.django_db,
]

# A block has 226 versions of a counter.
PETS = 2500
MAX_BLOCKS = 10

_CREATE_ONE_AFTER_THE_OTHER = f"""
DO $$ BEGIN
    FOR number IN 1 .. {PETS} LOOP
        INSERT INTO pets_pet (id, name, status, created_at, created_through)
        VALUES (gen_random_uuid(), 'Rex', 'available', now(), 'api');
    END LOOP;
END $$
"""


def test_an_update_of_a_counter_reads_few_blocks_however_many_dead_rows_there_are() -> None:
    """A backup with pg_dump keeps the dead rows of its duration, as the transaction of this test does."""
    Pet.objects.create(name="Tom", status=Pet.Status.SOLD)
    with connection.cursor() as cursor:
        cursor.execute(_CREATE_ONE_AFTER_THE_OTHER)
        cursor.execute("SELECT pg_relation_size('store_inventorycounter') / 8192")
        (blocks,) = cursor.fetchone()
        cursor.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT store_add_to_counter('available', 1)")
        ((explained,),) = cursor.fetchall()
        cursor.execute("SELECT store_add_to_counter('available', -1)")
    assert blocks > MAX_BLOCKS
    assert explained[0]["Plan"]["Shared Hit Blocks"] <= MAX_BLOCKS
    assert_exact()
