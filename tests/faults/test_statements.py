"""The queries of postgresql.md show where the time and the space of a server go."""

import re
from pathlib import Path

import psycopg
import pytest

from tests.documents import block
from tests.faults.load import Load, running_load
from tests.faults.servers import primary
from tests.service import running_service

pytestmark = pytest.mark.faults

PETS = 1500
# Parts of the statements that the guide explains.
KNOWN = [
    r"record AS \( INSERT INTO \"pets_idempotencyrecord\"",
    r"SELECT .*pets_pet\" WHERE \"id\" = ",
    r"SELECT .*pets_pet\" ORDER BY",
    r"SELECT .*store_inventorycounter",
]
# Bytes of a table in which all dead rows are removed soon.
SMALL = 8 * 8192


def test_the_guide_shows_what_takes_time_and_which_rows_are_dead(tmp_path: Path, cluster: Path) -> None:
    with primary(cluster, shared_preload_libraries="pg_stat_statements") as server:
        server.sql("CREATE EXTENSION pg_stat_statements")
        with running_service(tmp_path, DATABASE_URL=server.url) as service:
            key = service.create_key()
            with running_load(Load(service, key, reads=True), 8, retrying=4) as load:
                load.wait_for(PETS)
            with service.client(key) as client:
                for path in 20 * ["/v1/pets", "/v1/store/inventory"]:
                    assert client.get(path).status_code == 200
            statements = server.sql(block("postgresql.md", "statements").replace("'petservice'", "'migrated'"))
            for found in KNOWN:
                assert re.search(rf"^\d+\|[\d.]+\|\d+\|\(key\),? {found}", statements, re.MULTILINE), statements
            transactions = server.sql("SELECT sum(calls) FROM pg_stat_statements WHERE query IN ('BEGIN', 'COMMIT')")
            assert int(transactions) < PETS // 10, "a usual request takes one round trip"

            rows = (
                row.split("|") for row in server.sql(block("postgresql.md", "dead-rows"), url=server.url).splitlines()
            )
            tables = {name: (int(size), int(updated)) for name, size, _, updated, *_ in rows}
            size, updated = tables["store_inventorycounter"]
            assert updated > PETS // 10  # pets that wait together are counted together
            assert size <= SMALL

        with psycopg.connect(server.url, application_name="forgotten") as database:
            database.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            database.execute("SELECT 1")
            oldest = server.sql(block("postgresql.md", "oldest-transaction"), url=server.url)
            assert f"{database.info.backend_pid}|forgotten|" in oldest
