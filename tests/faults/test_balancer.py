"""Two instances behind HAProxy with the configuration in deployment.md lose no request."""

import csv
import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.documents import block
from tests.faults.haproxy import running_haproxy
from tests.faults.load import Load, lost, running_load
from tests.monitoring.observed import Observed
from tests.service import Service, free_port, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults


@dataclass(frozen=True)
class Balancer:
    """A running HAProxy in front of two instances."""

    haproxy: Service
    admin: Path

    def instances(self, status: str) -> list[str]:
        """Return the names of the instances that get requests, by the status UP, or that get none, by DOWN.

        An instance that is about to go up or down has another status.
        """
        with socket.socket(socket.AF_UNIX) as admin:
            admin.connect(str(self.admin))
            admin.sendall(b"show stat\n")
            response = b"".join(iter(lambda: admin.recv(65536), b"")).decode()
        rows = csv.DictReader(response.removeprefix("# ").splitlines())
        # A result of a check begins with L. Before the first check, HAProxy assumes that all are up. During a further
        # check it writes "* " before the result of the last one.
        return [
            row["svname"]
            for row in rows
            if (row["pxname"], row["status"]) == ("api-ready", status)
            and row["check_status"].removeprefix("* ").startswith("L")
        ]


@contextmanager
def balancer(folder: Path, one: Service, two: Service) -> Iterator[Balancer]:
    """Start HAProxy with TLS in front of two instances, and stop it at the end."""
    replaced = {"/run/haproxy/admin.sock": str(folder / "admin")}
    for machine, instance in {"10.0.0.11": one, "10.0.0.12": two}.items():
        # One process serves both the API and the pages.
        replaced |= {f"{machine}:{port}": instance.url.removeprefix("http://") for port in (8000, 8001)}
    with running_haproxy(folder, block("deployment.md", "haproxy"), replaced) as haproxy:
        running = Balancer(haproxy, folder / "admin")
        wait_until(lambda: running.instances("UP") == ["one", "two"])
        yield running


@pytest.fixture
def instances(tmp_path: Path, postgresql_url: str) -> Iterator[dict[str, "Instance"]]:
    """Two instances on one database, with a JSON log and a drain of 5 seconds."""
    both = {name: Instance(tmp_path / name, postgresql_url) for name in ("one", "two")}
    with ThreadPoolExecutor() as pool:
        try:
            list(pool.map(Instance.start, both.values()))
            yield both
        finally:
            list(pool.map(Instance.stop, both.values()))


class Instance:
    """An instance that can be stopped and started again at the same address."""

    service: Service

    def __init__(self, folder: Path, url: str) -> None:
        folder.mkdir()
        variables = {"DATABASE_URL": url, "PETSERVICE_DRAIN_SECONDS": "5", "PETSERVICE_LOG_FORMAT": "json"}
        port = free_port()
        self._run = lambda: running_service(folder, port=port, **variables)

    def start(self) -> None:
        self._running = self._run()
        self.service = self._running.__enter__()

    def stop(self) -> None:
        """Send SIGTERM, and wait for the end of the instance."""
        self._running.__exit__(None, None, None)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all processes, first to the master, because it would start workers again."""
        for pid in [self.service.process.pid, *self.service.workers()]:
            os.kill(pid, number)

    def posts(self) -> list[int]:
        """Return the statuses of all POST requests that the instance has completed."""
        requests = Observed(self.service, "", "").requests()
        return [request["status"] for request in requests if request["method"] == "POST"]


def test_rolling_restart_loses_no_request(tmp_path: Path, instances: dict[str, Instance]) -> None:
    one, two = (instance.service for instance in instances.values())
    key = one.create_key()
    with balancer(tmp_path, one, two) as entry:
        with running_load(Load(entry.haproxy, key, reads=True), 12, retrying=2, keeping=8) as load:
            for name, instance in instances.items():
                load.wait_for(100)
                first = instance.service.process
                instance.stop()
                assert first.returncode == 0
                assert entry.instances("UP") == [other for other in instances if other != name]
                instance.start()
                wait_until(lambda: entry.instances("UP") == ["one", "two"])
            load.wait_for(100)
        assert lost(load) == []
    assert load.saw.keys() == {"POST 201", "GET 200"}
    for instance in instances.values():
        instance.stop()  # writes the last lines of the log
    logged = [status for instance in instances.values() for status in instance.posts()]
    assert logged == [201] * load.saw["POST 201"], "one line for each"


@pytest.mark.parametrize("fault", ["killed", "suspended"])
def test_unavailable_instance_is_taken_out_and_put_back(
    tmp_path: Path, instances: dict[str, Instance], fault: str
) -> None:
    one, two = instances["one"], instances["two"]
    key = one.service.create_key()
    clients = 12
    with balancer(tmp_path, one.service, two.service) as entry:
        with running_load(Load(entry.haproxy, key, reads=True), clients, retrying=4, keeping=8) as load:
            load.wait_for(100)
            two.signal(signal.SIGKILL if fault == "killed" else signal.SIGSTOP)
            try:
                wait_until(lambda: (entry.instances("UP"), entry.instances("DOWN")) == (["one"], ["two"]), seconds=10)
                out = time.monotonic()
                # Clients with a request at the suspended instance wait for it; the others continue.
                load.wait_for(50)
                alone = load.within(out, time.monotonic())
                completed = len(two.posts())
            finally:
                if fault == "suspended":
                    two.signal(signal.SIGCONT)
            if fault == "killed":
                two.stop()  # cleans up after its killed processes
                two.start()
            wait_until(lambda: entry.instances("UP") == ["one", "two"])
            # More than the requests that waited for this instance.
            wait_until(lambda: len(two.posts()) > completed + clients)
            load.wait_for(50)
        assert lost(load) == []
    assert alone == {"POST 201", "GET 200"}
    failed = sum(number for result, number in load.saw.items() if result not in ("POST 201", "GET 200"))
    assert failed <= clients, "at most the requests in flight"


def test_running_instances_still_respond_while_none_is_ready(
    tmp_path: Path, instances: dict[str, Instance], postgresql_url: str
) -> None:
    one, two = (instance.service for instance in instances.values())
    key = one.create_key()
    with balancer(tmp_path, one, two) as entry, entry.haproxy.client(key) as client:
        with psycopg.connect(postgresql_url, autocommit=True) as database:
            database.execute("UPDATE django_migrations SET name = 'away ' || name WHERE app = 'pets'")
            wait_until(lambda: entry.instances("UP") == [])
            # The service's own words, not HAProxy's. Each worker notices it at its next check.
            wait_until(lambda: "The database lacks" in client.get("/ready").text)
            wait_until(lambda: "The service is being updated" in client.post("/v1/pets", json={"name": "Rex"}).text)
            assert client.get("/v1/health").status_code == 200
            database.execute("UPDATE django_migrations SET name = substr(name, 6) WHERE app = 'pets'")
        wait_until(lambda: entry.instances("UP") == ["one", "two"])
        wait_until(lambda: client.get("/v1/pets").status_code == 200)
        created = client.post("/v1/pets", json={"name": "Rex"})
        assert created.headers["Location"].startswith(f"{entry.haproxy.url}/v1/pets/"), (
            "the service uses the scheme of the client's request"
        )
        assert client.get(f"/v1/pets/{created.json()['id']}").status_code == 200
