"""A standby: how far it is behind, what happens without it, and that an old primary gets no writes later."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CalledProcessError

import psycopg
import pytest
from psycopg.errors import ReadOnlySqlTransaction

from tests.documents import block
from tests.faults.load import Load, lost, running_load
from tests.faults.outages import IMMEDIATE, ONE_WORKER, OUTCOMES, created, failures, first_requests
from tests.faults.servers import Server, primary, replica
from tests.service import running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

PET = {"name": "Rex"}
COUNT = "SELECT count(*) FROM pets_pet"
UNACKNOWLEDGED = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def standbys(server: Server) -> list[list[str]]:
    """Return a row for each standby: address, state, kind, delay and bytes behind."""
    return [row.split("|") for row in server.sql(block("postgresql.md", "lag")).splitlines()]


def acknowledge_only_with_a_standby(server: Server) -> None:
    server.sql(block("postgresql.md", "synchronous"))
    wait_until(lambda: [row[2] for row in standbys(server)] == ["sync"])


def test_a_standby_is_behind_is_away_and_follows_a_primary_that_was_restarted(tmp_path: Path, cluster: Path) -> None:
    with primary(cluster) as one, replica(of=one) as two:
        acknowledge_only_with_a_standby(one)
        with (
            running_service(tmp_path, DATABASE_URL=one.url, **ONE_WORKER) as service,
            service.client(service.create_key()) as client,
        ):
            two.sql("SELECT pg_wal_replay_pause()")
            assert client.post("/v1/pets", json=PET).status_code == 201
            assert int(standbys(one)[0][4]) > 0
            two.sql("SELECT pg_wal_replay_resume()")
            wait_until(lambda: standbys(one)[0][4] == "0")

            two.stop()
            assert client.post("/v1/pets", json=PET).status_code == 500
            assert one.sql(UNACKNOWLEDGED) != "0"
            assert client.get("/v1/pets").status_code == 200
            one.sql("ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf()")
            assert client.post("/v1/pets", json=PET).status_code == 201
            two.start()
            wait_until(lambda: standbys(one))

            one.stop("fast")
            one.run(block("postgresql.md", "fence"))
            one.start()
            assert client.post("/v1/pets", json=PET).status_code == 500
            one.promote()
            wait_until(lambda: client.post("/v1/pets", json=PET).status_code == 201)
            wait_until(lambda: [row[4] for row in standbys(one)] == ["0"])


def test_writes_succeed_after_a_fail_over_and_an_old_primary_that_comes_back_gets_none(
    tmp_path: Path, cluster: Path
) -> None:
    with primary(cluster) as one, replica(of=one) as two:
        both = f"postgresql://postgres@{one.address},{two.address}/migrated"
        acknowledge_only_with_a_standby(one)
        with running_service(tmp_path, DATABASE_URL=both) as service:
            key = service.create_key()
            with running_load(Load(service, key, reads=True), 12, retrying=4) as load:
                load.wait_for(200)
                one.stop()
                two.promote()
                began = time.monotonic()
                load.wait_for(1)
                assert time.monotonic() - began < 10
                firsts = first_requests(service, key)
                load.wait_for(100)
                assert failures(firsts) == [], "/ready among them"
                assert load.saw.keys() <= OUTCOMES
                assert load.slowest_failure() < IMMEDIATE

                load.reads = False  # the old primary answers reads until it is fenced
                one.start()
                assert_nothing_is_acknowledged(one)
                one.run(block("postgresql.md", "fence"))
                one.start()
                with psycopg.connect(one.url) as database, pytest.raises(ReadOnlySqlTransaction):
                    database.execute("DELETE FROM pets_pet")
                with pytest.raises(psycopg.OperationalError, match="session is read-only"):
                    psycopg.connect(one.url, target_session_attrs="read-write")
        # Its first connection tries the old primary first.
        with running_service(tmp_path, DATABASE_URL=both) as service, service.client(key) as client:
            assert client.post("/v1/pets", json=PET).status_code == 201
            load.created |= created(firsts)
            assert lost(load, service) == []

        one.stop("fast")
        one.run(block("postgresql.md", "rewind"), PRIMARY=two.empty_url)
        one.start()
        number = two.sql(COUNT, url=two.url)
        wait_until(lambda: one.sql(COUNT, url=one.url) == number)
        assert [row[1] for row in standbys(two)] == ["streaming"]


def assert_nothing_is_acknowledged(server: Server) -> None:
    """Check that the server does not answer a write, which a client of the service may wait for as well."""
    insert = "INSERT INTO django_session VALUES ('x', '', now())"
    with ThreadPoolExecutor(1) as pool:
        inserted = pool.submit(server.sql, insert, url=server.url)
        wait_until(lambda: server.sql(f"{UNACKNOWLEDGED} AND query LIKE 'INSERT INTO django_session%'") == "1")
        server.stop()
        with pytest.raises(CalledProcessError):
            inserted.result()
