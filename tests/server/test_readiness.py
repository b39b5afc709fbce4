"""The readiness probe of a worker."""

import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.server.connections import Client, Connect, get
from tests.server.services import booted_workers, release, service_with_test_endpoints
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


def test_readiness_is_probed_at_most_once_per_second_for_any_number_of_requests(
    tmp_path: Path, migrated_url: str, connect: Connect
) -> None:
    (tmp_path / "slow").touch()
    with service_with_test_endpoints(tmp_path, DATABASE_URL=migrated_url) as service:
        clients = [connect(service) for _ in range(8)]
        for client in clients:
            client.send(*[get("/ready")] * 20)
        wait_until(lambda: [*tmp_path.glob("probe-*")])
        release(tmp_path)
        assert {client.response().status for client in clients for _ in range(20)} == {200}

        def is_ready() -> bool:
            clients[0].send(get("/ready"))
            return clients[0].response().status == 200

        service.execute("UPDATE django_migrations SET app = 'other' WHERE app = 'pets'")
        wait_until(lambda: not is_ready())
        service.execute("UPDATE django_migrations SET app = 'pets' WHERE app = 'other'")
        wait_until(is_ready)

    probes = sorted(
        (int(probe.name.removeprefix("probe-")), int(probe.read_text())) for probe in tmp_path.glob("probe-*")
    )
    assert len(probes) >= 3
    assert min(began - ended for (_, ended), (began, _) in pairwise(probes)) >= 10**9


@pytest.mark.long
def test_worker_with_a_blocked_readiness_probe_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    with (
        service_with_test_endpoints(tmp_path, "--timeout", "2", TEST_CHECK_TIMEOUT="0.2") as service,
        Client(service) as client,
    ):
        (first,) = booted_workers(service)
        client.send(get("/ready"))
        assert client.response().status == 503

        until = time.monotonic() + 7  # three times the timeout of a blocked worker
        while time.monotonic() < until:
            client.send(get("/v1/worker"))
            assert client.response().body == str(first).encode()
            time.sleep(0.05)  # between two requests
        release(tmp_path)
