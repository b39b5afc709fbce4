"""Requests fail soon while PostgreSQL is unavailable, and succeed as soon as it is available again."""

import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx
import psycopg
import pytest

from tests.faults.conftest import Outcome
from tests.faults.load import Load, all_pets, lost, running_load
from tests.faults.servers import Server, primary, replica
from tests.service import Service, log_in, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

# Seconds for which the server is stopped.
OUTAGE = 5
# Maximum seconds of an immediate response, with one second of margin for a busy machine.
IMMEDIATE = 2
# Maximum seconds of an immediate response to one of many simultaneous requests.
IMMEDIATE_FOR_MANY = 3
# Maximum seconds of a request: for a free connection, for the database, and for a busy machine.
MAX_WAIT = 5 + 5 + 3
# Connections of each worker: for reads, for writes, for pages, and for the readiness probe.
CONNECTIONS = 3 + 3 + 3 + 1
WORKERS = 2

# The results that clients may see in any state of the database.
EXPECTED = {"GET 200", "POST 201", "GET 500 internal_error", "POST 500 internal_error"}


class Watch:
    """Clients that repeat the probes, and a record of the responses."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._is_over = False
        self.health: list[int] = []
        self.ready: list[int] = []
        self.slowest = 0.0  # of health

    def _repeat_health(self) -> None:
        with self._service.client() as client:
            while not self._is_over:
                response = client.get("/v1/health")
                self.health.append(response.status_code)
                self.slowest = max(self.slowest, response.elapsed.total_seconds())
                time.sleep(0.05)  # between two requests

    def _repeat_ready(self) -> None:
        with self._service.client() as client:
            while not self._is_over:
                self.ready.append(client.get("/ready").status_code)
                time.sleep(0.05)  # between two requests

    @contextmanager
    def watching(self) -> Iterator["Watch"]:
        # Each probe has its own thread, because readiness may have to wait for the database.
        threads = [Thread(target=self._repeat_health), Thread(target=self._repeat_ready)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._is_over = True
            for thread in threads:
                thread.join()


# The path of a page, and a session key to send.
LOGIN_PAGE = ("/admin/login/", "x" * 32)


def known_clients(service: Service, key: str) -> tuple[str, str]:
    """Make all workers know the key and the session of a member of staff. Return a page and the session.

    Otherwise a worker handles the requests of these clients one at a time until the first one succeeds.
    """
    service.create_staff("ada", "correct horse")
    with service.client() as client:
        log_in(client, "ada", "correct horse")
    session = client.cookies["sessionid"]
    for _ in range(4 * WORKERS):
        with service.client(key) as client:  # a new connection, which goes to the worker with the fewest
            assert client.get("/v1/pets?limit=1").status_code == 200
            once = {"Idempotency-Key": str(uuid.uuid4())}
            assert client.post("/v1/pets", json={"name": "first"}, headers=once).status_code == 201
            assert client.get("/admin/password_change/", headers={"Cookie": f"sessionid={session}"}).status_code == 200
    return "/admin/password_change/", session


def first_requests(
    service: Service, key: str, each: int = 8, page: tuple[str, str] = LOGIN_PAGE
) -> list[httpx.Response]:
    """Send so many requests of each kind, all at the same time, and return the responses."""
    path, session = page
    with service.client(key) as client, ThreadPoolExecutor(7 * each) as pool:
        requests = []
        for _ in range(each):
            once = {"Idempotency-Key": str(uuid.uuid4())}
            requests += [
                client.build_request("GET", "/v1/pets?limit=1"),
                client.build_request("POST", "/v1/pets", json={"name": "first"}),
                client.build_request("POST", "/v1/pets", json={"name": "first"}, headers=once),
                client.build_request("GET", "/v1/store/inventory"),
                client.build_request("GET", "/ready"),
                # A page, which reads the session.
                client.build_request("GET", path, headers={"Cookie": f"sessionid={session}"}),
                # A seventh request, because connections go to two workers in turn. With an even number, each worker
                # would get only half of the kinds.
                client.build_request("GET", "/v1/pets?limit=2"),
            ]
        return list(pool.map(client.send, requests))


def requests_on_all_connections(
    service: Service, key: str, page: tuple[str, str], server: Server
) -> list[httpx.Response]:
    """Block requests in the database until they use every connection of the service, and return the responses."""
    with ThreadPoolExecutor(1) as pool, psycopg.connect(server.url) as holder, psycopg.connect(server.url) as looker:
        looker.autocommit = True
        # The API and a page read these tables. The probe may reuse the result of the last second.
        holder.execute("LOCK TABLE pets_pet, django_session")
        # Enough requests that each worker gets some of each kind.
        responses = pool.submit(first_requests, service, key, each=16, page=page)
        held = "FROM pg_stat_activity WHERE application_name = 'petservice' AND wait_event_type = 'Lock'"
        all_of_them = (WORKERS * (CONNECTIONS - 1),)
        # A request that fails on a dead connection uses none. In that case wait until the others time out.
        wait_until(lambda: looker.execute(f"SELECT count(*) {held}").fetchone() == all_of_them or responses.done())
        holder.rollback()
        return responses.result()


def failures(responses: list[httpx.Response]) -> list[str]:
    """Return a description of each response that is not a success."""
    return [
        f"{response.request.method} {response.request.url.path}: {response.status_code} {response.text[:200]}"
        for response in responses
        if response.status_code not in (200, 201)
    ]


def slowest(responses: list[httpx.Response]) -> float:
    """Return the seconds that the slowest response took."""
    return max(response.elapsed.total_seconds() for response in responses)


def created(responses: list[httpx.Response]) -> set[str]:
    """Return the ids of the pets whose creation got 201."""
    return {response.json()["id"] for response in responses if response.status_code == 201}


def count_lost(service: Service, key: str, load: Load, firsts: list[httpx.Response]) -> int:
    """Return how many pets whose creation got 201 do not exist, and fail if the inventory is wrong."""
    with service.client(key) as client:
        pets = all_pets(client)
        assert client.get("/v1/store/inventory").json()["available"] == sum(len(ids) for ids in pets.values())
    assert [name for name in load.retried if len(pets[name]) != 1] == []
    existing = {pet for ids in pets.values() for pet in ids}
    return len(lost(load, pets)) + len(load.missing) + len(created(firsts) - existing)


def test_requests_fail_immediately_while_the_server_is_stopped(
    tmp_path: Path, report: Callable[[Outcome], None]
) -> None:
    with primary() as server, running_service(tmp_path, DATABASE_URL=server.url) as service:
        key = service.create_key()
        with running_load(Load(service.url, key, reads=True), 12, retrying=4) as load:
            load.wait_for(100)
            server.stop()
            stopped = time.monotonic()
            with Watch(service).watching() as watch, service.client(key) as client:
                # Repeat the request until the end of the outage.
                while time.monotonic() < stopped + OUTAGE:
                    response = client.get("/v1/pets")
                    assert response.status_code == 500
                    assert response.elapsed.total_seconds() < IMMEDIATE
            back = time.monotonic()
            server.start()
            firsts = [response for response in first_requests(service, key) if response.request.url.path != "/ready"]
            wait_until(lambda: all_are_ready(service), seconds=10)
            load.wait_for(100)
        assert failures(firsts) == []
        assert slowest(firsts) < IMMEDIATE_FOR_MANY, "no requests have queued up"
        assert set(watch.health) == {200}
        # The first check may have succeeded just before the stop, and its result is used for a second.
        assert set(watch.ready[watch.ready.index(503) :]) == {503}
        results = {response.result for response in load.within(stopped, back)}
        assert "POST 500 internal_error" in results
        assert results <= {"POST 500 internal_error", "GET 500 internal_error"}
        assert {response.result for response in load.responses} <= EXPECTED
        assert {"broken", "refused"}.isdisjoint(load.saw)
        assert load.slowest_failure() < IMMEDIATE, "no request waits for the end of the outage"
        saw = (
            f"{load.summary()}; slowest 500 {load.slowest_failure() * 1000:.0f} ms, "
            f"health {watch.slowest * 1000:.0f} ms, first ones afterwards {slowest(firsts) * 1000:.0f} ms"
        )
        report(Outcome(f"PostgreSQL stopped for {OUTAGE} s", 1, saw, count_lost(service, key, load, firsts)))


def test_requests_succeed_after_the_server_restarts_between_them(
    tmp_path: Path, report: Callable[[Outcome], None]
) -> None:
    times = 5
    variables = {"WEB_CONCURRENCY": str(WORKERS)}
    with primary() as server, running_service(tmp_path, DATABASE_URL=server.url, **variables) as service:
        key = service.create_key()
        page = known_clients(service, key)
        responses = requests_on_all_connections(service, key, page, server)
        for _ in range(times):
            server.stop()
            server.start()
            # All connections are dead now, and each gets a first request.
            responses += requests_on_all_connections(service, key, page, server)
        assert failures(responses) == []
        with service.client(key) as client:
            existing = {pet for ids in all_pets(client).values() for pet in ids}
        saw = f"{len(responses)} successes, on {WORKERS * CONNECTIONS} dead connections each time"
        report(Outcome("PostgreSQL restarted between requests", times, saw, len(created(responses) - existing)))


def test_requests_time_out_while_the_server_is_silent(tmp_path: Path, report: Callable[[Outcome], None]) -> None:
    with primary() as server, running_service(tmp_path, DATABASE_URL=server.url) as service:
        key = service.create_key()
        # Connect the workers before the fault, because new connections have a timeout of their own.
        assert all_are_ready(service)
        with running_load(Load(service.url, key, reads=True), 12, retrying=4) as load:
            load.wait_for(100)
            server.suspend()
            stopped = time.monotonic()
            with Watch(service).watching() as watch:
                with service.client(key) as client:
                    for _ in range(3):
                        response = client.get("/v1/pets")
                        assert response.status_code == 500
                        assert response.elapsed.total_seconds() < MAX_WAIT
                    for _ in range(WORKERS):
                        response = client.get("/ready")
                        assert response.json()["error"]["code"] == "unavailable"
                        assert response.elapsed.total_seconds() < MAX_WAIT
                back = time.monotonic()
                probed = len(watch.health)
                server.resume()
            wait_until(lambda: all_are_ready(service), seconds=10)
            wait_until(lambda: client_succeeds(service, key), seconds=10)
            firsts = first_requests(service, key)
            load.wait_for(100)
        assert failures(firsts) == [], "/ready among them"
        assert slowest(firsts) < IMMEDIATE_FOR_MANY, "no requests have queued up"
        assert set(watch.health) == {200}
        assert probed > 10
        assert watch.slowest < IMMEDIATE
        results = {response.result for response in load.within(stopped, back)}
        assert "POST 500 internal_error" in results
        assert results <= {"POST 500 internal_error", "GET 500 internal_error"}
        # The server may still be processing the request that the client repeats.
        assert {response.result for response in load.responses} <= EXPECTED | {"POST 409 conflict"}
        assert {"broken", "refused"}.isdisjoint(load.saw)
        assert load.slowest_failure() < MAX_WAIT
        saw = (
            f"{load.summary()}; slowest 500 {load.slowest_failure():.1f} s, "
            f"health {watch.slowest * 1000:.0f} ms, first ones afterwards {slowest(firsts) * 1000:.0f} ms"
        )
        report(Outcome("PostgreSQL silent", 1, saw, count_lost(service, key, load, firsts)))


def client_succeeds(service: Service, key: str) -> bool:
    with service.client(key) as client:
        return client.get("/v1/pets?limit=1").status_code == 200


def all_are_ready(service: Service) -> bool:
    """Return whether every worker is ready; each connection goes to one of them."""
    return all(is_ready(service) for _ in range(4 * WORKERS))


def is_ready(service: Service) -> bool:
    with service.client() as client:
        return client.get("/ready").status_code == 200


def is_replicated(server: Server) -> bool:
    with psycopg.connect(server.url) as connection:
        found = connection.execute("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").fetchone()
    return found is not None


def test_writes_succeed_after_a_replica_is_promoted(tmp_path: Path, report: Callable[[Outcome], None]) -> None:
    with primary() as one, replica(of=one) as two:
        # The replica comes first, so a client that uses the first server that responds cannot write.
        both = f"postgresql://postgres@{two.address},{one.address}/postgres"
        with psycopg.connect(one.url, autocommit=True) as connection:
            # From now on a commit is acknowledged when the replica has it. The replica does not have this setting, so
            # it waits for no other server after its promotion.
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
        wait_until(lambda: is_replicated(one))
        with running_service(tmp_path, DATABASE_URL=both) as service:
            key = service.create_key()
            with running_load(Load(service.url, key, reads=True), 12, retrying=4) as load:
                load.wait_for(200)
                one.stop()
                two.promote()
                began = time.monotonic()
                load.wait_for(1)
                again = time.monotonic() - began
                firsts = first_requests(service, key)
                load.wait_for(100)
            assert again < 10
            assert failures(firsts) == [], "/ready among them"
            assert {response.result for response in load.responses} <= EXPECTED
            assert {"broken", "refused"}.isdisjoint(load.saw)
            assert load.slowest_failure() < IMMEDIATE
            saw = (
                f"{load.summary()}; slowest 500 {load.slowest_failure() * 1000:.0f} ms; "
                f"writing {again:.1f} s after the promotion"
            )
            report(Outcome("primary crashed, replica promoted", 1, saw, count_lost(service, key, load, firsts)))
