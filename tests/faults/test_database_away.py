"""PostgreSQL away, silent, or moved: requests fail soon and in good order, and succeed as soon as it is back."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx
import psycopg
import pytest

from tests.conftest import Service, running_service, wait_until
from tests.faults.conftest import Outcome
from tests.faults.servers import Server, primary, replica
from tests.faults.storm import Storm, all_pets, lost, storm

pytestmark = pytest.mark.faults

# Seconds for which the server is away.
AWAY = 5


class Watch:
    """What a client that asks for the probes all the time is answered."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._is_over = False
        self.health: list[int] = []
        self.ready: list[int] = []
        self.slowest = 0.0

    def run(self) -> None:
        with self._service.client() as client:
            while not self._is_over:
                for path, answers in (("/v1/health", self.health), ("/ready", self.ready)):
                    began = time.monotonic()
                    answers.append(client.get(path).status_code)
                    if path == "/v1/health":
                        self.slowest = max(self.slowest, time.monotonic() - began)
                time.sleep(0.05)  # between questions

    @contextmanager
    def watching(self) -> Iterator["Watch"]:
        thread = Thread(target=self.run)
        thread.start()
        try:
            yield self
        finally:
            self._is_over = True
            thread.join()


def first_requests(service: Service, key: str) -> list[int]:
    """What is answered to reads, posts and posts with an Idempotency-Key on connections of their own, as they come."""
    statuses = []
    for number in range(20):
        with service.client(key) as client:
            statuses.append(client.get("/v1/pets?limit=1").status_code)
            statuses.append(client.post("/v1/pets", json={"name": "first"}).status_code)
            once = {"Idempotency-Key": f"first {number} {time.monotonic_ns()}"}
            statuses.append(client.post("/v1/pets", json={"name": "first"}, headers=once).status_code)
            statuses.append(client.get("/v1/store/inventory").status_code)
    return statuses


def unlost(service: Service, key: str, account: Storm) -> int:
    """How many pets that were answered 201 are not there; fails if the counts are wrong."""
    with service.client(key) as client:
        pets = all_pets(client)
        assert client.get("/v1/store/inventory").json()["available"] == sum(len(ids) for ids in pets.values())
    assert [name for name in account.insistent if len(pets[name]) != 1] == []
    return len(lost(account, pets)) + len(account.missing)


def test_stopped_server(tmp_path: Path, tell: Callable[[Outcome], None]) -> None:
    with primary() as server, running_service(tmp_path, DATABASE_URL=server.url) as service:
        key = service.create_key()
        with storm(Storm(service.url, key, reads=True), 12, insistent=4) as account:
            account.wait_for(100)
            server.stop()
            with Watch(service).watching() as watch:
                # The fault is that it lasts.
                over = time.monotonic() + AWAY
                slowest = 0.0
                with service.client(key) as client:
                    while time.monotonic() < over:
                        began = time.monotonic()
                        assert client.get("/v1/pets").status_code == 500
                        slowest = max(slowest, time.monotonic() - began)
            server.start()
            statuses = first_requests(service, key)
            account.wait_for(100)
        assert set(watch.health) == {200}
        # The first question may have come while the server was about to end.
        assert set(watch.ready[1:]) == {503}
        assert set(statuses) == {200, 201}
        assert "broken" not in account.saw
        assert slowest < AWAY, "nobody waits until it is back"
        saw = f"{account.summary()}; slowest 500 {slowest * 1000:.0f} ms, health {watch.slowest * 1000:.0f} ms"
        tell(Outcome(f"PostgreSQL stopped for {AWAY} s", 1, saw, unlost(service, key, account)))


def test_server_that_restarts_while_nobody_asks(tmp_path: Path, tell: Callable[[Outcome], None]) -> None:
    times = 5
    with primary() as server, running_service(tmp_path, DATABASE_URL=server.url) as service:
        key = service.create_key()
        statuses = first_requests(service, key)
        for _ in range(times):
            server.stop()
            server.start()
            statuses += first_requests(service, key)
        assert set(statuses) == {200, 201}
        with service.client(key) as client:
            missing = statuses.count(201) - sum(len(ids) for ids in all_pets(client).values())
        tell(Outcome("PostgreSQL restarted between requests", times, f"{len(statuses)} successes", missing))


def test_silent_server(tmp_path: Path, tell: Callable[[Outcome], None]) -> None:
    with primary() as server, running_service(tmp_path, DATABASE_URL=server.url) as service:
        key = service.create_key()
        with storm(Storm(service.url, key, reads=True), 12, insistent=4) as account:
            account.wait_for(100)
            server.suspend()
            with Watch(service).watching() as watch, httpx.Client(base_url=service.url, trust_env=False) as client:
                slowest = 0.0
                for _ in range(3):
                    began = time.monotonic()
                    answer = client.get("/v1/pets", headers={"X-API-Key": key}, timeout=30)
                    slowest = max(slowest, time.monotonic() - began)
                    assert answer.status_code == 500
                server.resume()
            wait_until(lambda: client_succeeds(service, key))
            statuses = first_requests(service, key)
            account.wait_for(100)
        assert set(watch.health) == {200}
        assert set(statuses) == {200, 201}
        assert "broken" not in account.saw
        saw = f"{account.summary()}; slowest 500 {slowest:.1f} s, health {watch.slowest * 1000:.0f} ms"
        tell(Outcome("PostgreSQL silent", 1, saw, unlost(service, key, account)))


def client_succeeds(service: Service, key: str) -> bool:
    with service.client(key) as client:
        return client.get("/v1/pets?limit=1").status_code == 200


def is_replicated(server: Server) -> bool:
    with psycopg.connect(server.url) as connection:
        found = connection.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").fetchone()
    return found is not None


def test_promoted_replica(tmp_path: Path, tell: Callable[[Outcome], None]) -> None:
    with primary() as one, replica(of=one) as two:
        # The replica first: whoever takes the first that answers cannot write.
        both = f"postgresql://postgres@{two.address},{one.address}/postgres"
        with psycopg.connect(one.url, autocommit=True) as connection:
            # From now on a commit is acknowledged when the replica has it; which itself will have no other to wait for.
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
        wait_until(lambda: is_replicated(one))
        with running_service(tmp_path, DATABASE_URL=both) as service:
            key = service.create_key()
            with storm(Storm(service.url, key, reads=True), 12, insistent=4) as account:
                account.wait_for(200)
                one.stop()
                two.promote()
                began = time.monotonic()
                account.wait_for(1)
                again = time.monotonic() - began
                statuses = first_requests(service, key)
                account.wait_for(100)
            assert set(statuses) == {200, 201}
            saw = f"{account.summary()}; writing {again:.1f} s after the promotion"
            tell(Outcome("primary crashed, replica promoted", 1, saw, unlost(service, key, account)))
