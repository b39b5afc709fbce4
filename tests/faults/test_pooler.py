"""`serve` and a move refuse PgBouncer, which loses the timeouts, and `serve` a database of another encoding."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.faults.restores import move
from tests.faults.servers import Server, pgbouncer, primary
from tests.service import SERVE, free_port, manage, refusal, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

WITHOUT_MIGRATE = ("manage.py", "serve")


@pytest.fixture(scope="module")
def server(cluster: Path) -> Iterator[Server]:
    with primary(cluster) as running:
        # As an operator may have set it for the pooler's connections: these are not the service's own.
        with psycopg.connect(running.url, autocommit=True) as database:
            database.execute("ALTER ROLE postgres SET statement_timeout = '20s'")
        yield running


@pytest.mark.parametrize(
    ("ignored", "does", "serve"),
    [
        ("", "refuses the timeouts of the service", SERVE),
        (
            "options",
            "discards the timeouts of the service (statement_timeout, lock_timeout, idle_in_transaction_",
            WITHOUT_MIGRATE,
        ),
    ],
    ids=["refuses options, --migrate", "ignores options, alone"],
)
def test_a_pooler_is_refused_before_anything_is_written(
    tmp_path: Path, server: Server, migrated_url: str, ignored: str, does: str, serve: tuple[str, ...]
) -> None:
    with pgbouncer(server, ignore_startup_parameters=ignored) as url:
        said = refusal(tmp_path, serve=serve, DATABASE_URL=url)
        report = manage("doctor", DATABASE_URL=url, PETSERVICE_DATA_DIR=str(tmp_path)).stdout
        status, moved = move(tmp_path, migrated_url, url)

    assert f"error    pooler       A connection pooler {does}" in report
    assert f"A connection pooler {does}" in said
    assert (status, f"A connection pooler {does}" in moved, "Nothing was moved" in moved) == (1, True, True)
    assert "PgBouncer and other poolers are not supported: name the PostgreSQL server itself in DATABASE_URL" in said
    with psycopg.connect(server.empty_url) as database:
        assert database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall() == []


def test_a_database_of_another_encoding_is_refused(tmp_path: Path, server: Server) -> None:
    server.sql("CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    variables = {"DATABASE_URL": f"postgresql://postgres@{server.address}/ascii", "PETSERVICE_DATA_DIR": str(tmp_path)}

    for said in (refusal(tmp_path, **variables), manage("migrate", **variables).stderr):
        assert "The database has the encoding SQL_ASCII. Create one with ENCODING 'UTF8'." in said


def test_timeouts_that_the_operator_sets_in_the_url_are_accepted(tmp_path: Path, server: Server) -> None:
    url = f"{server.url}?options=-c%20statement_timeout%3D0"

    with running_service(tmp_path, command=WITHOUT_MIGRATE, DATABASE_URL=url) as service:
        assert "timeouts" not in service.log.read_text()


def test_a_pooler_that_was_away_at_the_start_is_named_by_the_readiness_check(tmp_path: Path, server: Server) -> None:
    """With it, no statement would have a timeout."""
    port = free_port()
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    with running_service(tmp_path, command=WITHOUT_MIGRATE, DATABASE_URL=url) as service, service.client() as client:
        assert "PostgreSQL cannot be reached" in service.log.read_text()
        assert client.get("/ready").json()["error"]["message"] == "The database does not answer."

        for ignored, does in (("options", "discards"), ("", "refuses")):
            with pgbouncer(server, port=port, ignore_startup_parameters=ignored):
                wait_until(lambda does=does: f"pooler {does} the timeouts" in client.get("/ready").text)
                assert client.get("/ready").status_code == 503


def test_a_server_that_was_away_at_the_start_is_used_as_soon_as_it_responds(tmp_path: Path, server: Server) -> None:
    server.stop()
    variables = {"DATABASE_URL": server.url, "WEB_CONCURRENCY": "1"}
    with running_service(tmp_path, command=WITHOUT_MIGRATE, **variables) as service, service.client() as client:
        assert client.get("/ready").status_code == 503
        server.start()
        wait_until(lambda: client.get("/ready").status_code == 200)
        with service.client(service.create_key()) as caller:
            assert caller.get("/v1/pets").status_code == 200
