"""The drain before a stop: `/ready` returns 503 while the service continues to serve requests."""

import signal
from pathlib import Path

import pytest

from tests.server.services import DRAINING, booted_workers, service_with_test_endpoints
from tests.service import running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


def test_service_is_not_ready_and_serves_requests_during_the_drain_which_a_second_signal_ends(
    tmp_path: Path, migrated_url: str
) -> None:
    with running_service(tmp_path, DATABASE_URL=migrated_url, PETSERVICE_DRAIN_SECONDS="600") as service:
        with service.client() as client:
            assert client.get("/ready").status_code == 200
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: DRAINING in service.log.read_text())

        for _ in range(20):
            with service.client() as client:  # a new connection each time
                ready, health, pets = client.get("/ready"), client.get("/v1/health"), client.get("/v1/pets")
            assert (ready.status_code, health.status_code, pets.status_code) == (503, 200, 401)
            assert ready.json()["error"] == {"code": "unavailable", "message": "The service is about to stop."}
            assert "connection" not in health.headers

        assert service.process.poll() is None
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(timeout=20) == 0


@pytest.mark.long
def test_starting_worker_obeys_the_signal_to_stop(tmp_path: Path) -> None:
    slow = ("--worker-class", "tests.server.endpoints.NeverReadyWorker")
    with service_with_test_endpoints(tmp_path, *slow, WEB_CONCURRENCY="2") as service:
        wait_until(lambda: len(booted_workers(service)) == 2)

        service.process.send_signal(signal.SIGTERM)

        # Well before gunicorn would kill the remaining workers.
        assert service.process.wait(timeout=20) == 0
    assert "SIGKILL" not in service.log.read_text()
