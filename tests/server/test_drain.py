"""A stop that is announced: `/ready` turns 503 before anything else changes."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import migrated_database_url
from tests.server.services import DRAINING, service_with_test_endpoints, workers
from tests.service import Service, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")

LONG = 3.0


@pytest.fixture
def draining(tmp_path: Path) -> Iterator[Service]:
    """A service that has got its SIGTERM."""
    with (
        migrated_database_url(tmp_path) as url,
        running_service(tmp_path, DATABASE_URL=url, PETSERVICE_DRAIN_SECONDS=str(LONG)) as service,
    ):
        with service.client() as client:
            assert client.get("/ready").status_code == 200
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: DRAINING in service.log.read_text())
        yield service


def test_stop_is_announced_while_all_goes_on(draining: Service) -> None:
    began = time.monotonic()
    answers = []
    while time.monotonic() - began < LONG / 2:
        with draining.client() as client:  # each time a new connection
            answers.append((client.get("/ready"), client.get("/v1/health"), client.get("/v1/pets")))

    for ready, health, pets in answers:
        assert (ready.status_code, health.status_code, pets.status_code) == (503, 200, 401)
        assert ready.json()["error"] == {"code": "unavailable", "message": "The service is about to stop."}
        assert "connection" not in health.headers
    assert draining.process.wait(timeout=20) == 0
    assert time.monotonic() - began > LONG / 2


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_ends_the_wait(tmp_path: Path, second: signal.Signals) -> None:
    with running_service(tmp_path, PETSERVICE_DRAIN_SECONDS="600", DATABASE_URL="") as service:
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: DRAINING in service.log.read_text())

        service.process.send_signal(second)

        assert service.process.wait(timeout=20) == 0


def test_worker_that_gets_the_signal_to_stop_while_it_begins_stops(tmp_path: Path) -> None:
    slow = ("--worker-class", "tests.server.endpoints.SlowToBegin")
    with service_with_test_endpoints(tmp_path, *slow, WEB_CONCURRENCY="2") as service:
        wait_until(lambda: len(workers(service)) == 2)

        service.process.send_signal(signal.SIGTERM)

        # Well before gunicorn kills those that have not ended.
        assert service.process.wait(timeout=20) == 0
    assert "SIGKILL" not in service.log.read_text()
