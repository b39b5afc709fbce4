"""PostgreSQL away, silent, or moved: requests fail soon and in good order, and succeed as soon as it is back."""

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
from tests.faults.load import Storm, all_pets, lost, storm
from tests.faults.servers import Server, primary, replica
from tests.service import Service, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

# Seconds for which the server is away.
AWAY = 5
# Seconds in which an answer comes at once, also on a machine that has stood still for one meanwhile.
AT_ONCE = 2
# The same of many answers at a time.
ALL_AT_ONCE = 3
# Seconds for which a request may wait: for its turn, for the database, and for the machine.
PATIENCE = 5 + 5 + 3
# Connections of each worker: of calls that read, of calls that write, of pages, and of the readiness probe.
CONNECTIONS = 3 + 3 + 3 + 1
WORKERS = 2

# What the storm's clients may be answered, whatever the database does.
IN_ORDER = {"GET 200", "POST 201", "GET 500 internal_error", "POST 500 internal_error"}


class Watch:
    """What clients that ask for the probes all the time are answered."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._is_over = False
        self.health: list[int] = []
        self.ready: list[int] = []
        self.slowest = 0.0  # of health

    def _ask_health(self) -> None:
        with self._service.client() as client:
            while not self._is_over:
                answer = client.get("/v1/health")
                self.health.append(answer.status_code)
                self.slowest = max(self.slowest, answer.elapsed.total_seconds())
                time.sleep(0.05)  # between questions

    def _ask_ready(self) -> None:
        with self._service.client() as client:
            while not self._is_over:
                self.ready.append(client.get("/ready").status_code)
                time.sleep(0.05)  # between questions

    @contextmanager
    def watching(self) -> Iterator["Watch"]:
        # Each on its own: readiness may have to wait for the database.
        threads = [Thread(target=self._ask_health), Thread(target=self._ask_ready)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._is_over = True
            for thread in threads:
                thread.join()


def first_requests(service: Service, key: str, each: int = 8) -> list[httpx.Response]:
    """What is answered, as it comes, to so many of each kind of request, all at the same time."""
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
                # A page, which looks the session up.
                client.build_request("GET", "/admin/login/", headers={"Cookie": "sessionid=of-nobody"}),
                # A seventh: connections go to two workers in turn, and of an even number each would get half the kinds.
                client.build_request("GET", "/v1/pets?limit=2"),
            ]
        return list(pool.map(client.send, requests))


def requests_on_all_connections(service: Service, key: str, server: Server) -> list[httpx.Response]:
    """The same, held up in the database until every connection that the service can have is in use."""
    with ThreadPoolExecutor(1) as pool, psycopg.connect(server.url) as holder, psycopg.connect(server.url) as looker:
        looker.autocommit = True
        # What the API and a page ask for. The probe may know from a second ago that the database is ready.
        holder.execute("LOCK TABLE pets_pet, django_session")
        # So many that of each kind each worker has its share.
        answers = pool.submit(first_requests, service, key, each=16)
        held = "FROM pg_stat_activity WHERE application_name = 'petservice' AND wait_event_type = 'Lock'"
        all_of_them = (WORKERS * (CONNECTIONS - 1),)
        # Those that fail for a dead connection hold none; then all end, for they wait for the lock a few seconds only.
        wait_until(lambda: looker.execute(f"SELECT count(*) {held}").fetchone() == all_of_them or answers.done())
        holder.rollback()
        return answers.result()


def failures(answers: list[httpx.Response]) -> list[str]:
    """Those that did not succeed."""
    return [
        f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text[:200]}"
        for answer in answers
        if answer.status_code not in (200, 201)
    ]


def slowest(answers: list[httpx.Response]) -> float:
    """Seconds that the slowest of them took."""
    return max(answer.elapsed.total_seconds() for answer in answers)


def created(answers: list[httpx.Response]) -> set[str]:
    """The ids of the pets that were answered 201."""
    return {answer.json()["id"] for answer in answers if answer.status_code == 201}


def unlost(service: Service, key: str, account: Storm, firsts: list[httpx.Response]) -> int:
    """How many pets that were answered 201 are not there; fails if the counts are wrong."""
    with service.client(key) as client:
        pets = all_pets(client)
        assert client.get("/v1/store/inventory").json()["available"] == sum(len(ids) for ids in pets.values())
    assert [name for name in account.insistent if len(pets[name]) != 1] == []
    there = {pet for ids in pets.values() for pet in ids}
    return len(lost(account, pets)) + len(account.missing) + len(created(firsts) - there)


def test_stopped_server(tmp_path: Path, tell: Callable[[Outcome], None]) -> None:
    with primary() as server, running_service(tmp_path, DATABASE_URL=server.url) as service:
        key = service.create_key()
        with storm(Storm(service.url, key, reads=True), 12, insistent=4) as account:
            account.wait_for(100)
            server.stop()
            gone = time.monotonic()
            with Watch(service).watching() as watch, service.client(key) as client:
                # The fault is that it lasts.
                while time.monotonic() < gone + AWAY:
                    answer = client.get("/v1/pets")
                    assert answer.status_code == 500
                    assert answer.elapsed.total_seconds() < AT_ONCE
            back = time.monotonic()
            server.start()
            firsts = [answer for answer in first_requests(service, key) if answer.request.url.path != "/ready"]
            wait_until(lambda: all_are_ready(service), seconds=10)
            account.wait_for(100)
        assert failures(firsts) == []
        assert slowest(firsts) < ALL_AT_ONCE, "nothing has piled up"
        assert set(watch.health) == {200}
        # The first look may have come while the server was about to end, and its result lasts for a second.
        assert set(watch.ready[watch.ready.index(503) :]) == {503}
        meanwhile = {answer.what for answer in account.within(gone, back)}
        assert "POST 500 internal_error" in meanwhile
        assert meanwhile <= {"POST 500 internal_error", "GET 500 internal_error"}
        assert {answer.what for answer in account.answers} <= IN_ORDER
        assert {"broken", "refused"}.isdisjoint(account.saw)
        assert account.slowest_failure() < AT_ONCE, "nobody waits until it is back"
        saw = (
            f"{account.summary()}; slowest 500 {account.slowest_failure() * 1000:.0f} ms, "
            f"health {watch.slowest * 1000:.0f} ms, first ones afterwards {slowest(firsts) * 1000:.0f} ms"
        )
        tell(Outcome(f"PostgreSQL stopped for {AWAY} s", 1, saw, unlost(service, key, account, firsts)))


def test_server_that_restarts_while_nobody_asks(tmp_path: Path, tell: Callable[[Outcome], None]) -> None:
    times = 5
    variables = {"WEB_CONCURRENCY": str(WORKERS)}
    with primary() as server, running_service(tmp_path, DATABASE_URL=server.url, **variables) as service:
        key = service.create_key()
        answers = requests_on_all_connections(service, key, server)
        for _ in range(times):
            server.stop()
            server.start()
            # All connections are dead now, and each is met by one that comes first.
            answers += requests_on_all_connections(service, key, server)
        assert failures(answers) == []
        with service.client(key) as client:
            there = {pet for ids in all_pets(client).values() for pet in ids}
        saw = f"{len(answers)} successes, on {WORKERS * CONNECTIONS} dead connections each time"
        tell(Outcome("PostgreSQL restarted between requests", times, saw, len(created(answers) - there)))


def test_silent_server(tmp_path: Path, tell: Callable[[Outcome], None]) -> None:
    with primary() as server, running_service(tmp_path, DATABASE_URL=server.url) as service:
        key = service.create_key()
        # Its workers are connected already: a connection that was not made would be given up by itself.
        assert all_are_ready(service)
        with storm(Storm(service.url, key, reads=True), 12, insistent=4) as account:
            account.wait_for(100)
            server.suspend()
            gone = time.monotonic()
            with Watch(service).watching() as watch:
                with service.client(key) as client:
                    for _ in range(3):
                        answer = client.get("/v1/pets")
                        assert answer.status_code == 500
                        assert answer.elapsed.total_seconds() < PATIENCE
                    for _ in range(WORKERS):
                        answer = client.get("/ready")
                        assert answer.json()["error"]["code"] == "unavailable"
                        assert answer.elapsed.total_seconds() < PATIENCE
                back = time.monotonic()
                asked = len(watch.health)
                server.resume()
            wait_until(lambda: all_are_ready(service), seconds=10)
            wait_until(lambda: client_succeeds(service, key), seconds=10)
            firsts = first_requests(service, key)
            account.wait_for(100)
        assert failures(firsts) == [], "/ready among them"
        assert slowest(firsts) < ALL_AT_ONCE, "nothing has piled up"
        assert set(watch.health) == {200}
        assert asked > 10
        assert watch.slowest < AT_ONCE
        meanwhile = {answer.what for answer in account.within(gone, back)}
        assert "POST 500 internal_error" in meanwhile
        assert meanwhile <= {"POST 500 internal_error", "GET 500 internal_error"}
        # The server may still be at the request that the client sends again.
        assert {answer.what for answer in account.answers} <= IN_ORDER | {"POST 409 conflict"}
        assert {"broken", "refused"}.isdisjoint(account.saw)
        assert account.slowest_failure() < PATIENCE
        saw = (
            f"{account.summary()}; slowest 500 {account.slowest_failure():.1f} s, "
            f"health {watch.slowest * 1000:.0f} ms, first ones afterwards {slowest(firsts) * 1000:.0f} ms"
        )
        tell(Outcome("PostgreSQL silent", 1, saw, unlost(service, key, account, firsts)))


def client_succeeds(service: Service, key: str) -> bool:
    with service.client(key) as client:
        return client.get("/v1/pets?limit=1").status_code == 200


def all_are_ready(service: Service) -> bool:
    """Whether every worker says so; each connection goes to one of them."""
    return all(is_ready(service) for _ in range(4 * WORKERS))


def is_ready(service: Service) -> bool:
    with service.client() as client:
        return client.get("/ready").status_code == 200


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
                firsts = first_requests(service, key)
                account.wait_for(100)
            assert again < 10
            assert failures(firsts) == [], "/ready among them"
            assert {answer.what for answer in account.answers} <= IN_ORDER
            assert {"broken", "refused"}.isdisjoint(account.saw)
            assert account.slowest_failure() < AT_ONCE
            saw = (
                f"{account.summary()}; slowest 500 {account.slowest_failure() * 1000:.0f} ms; "
                f"writing {again:.1f} s after the promotion"
            )
            tell(Outcome("primary crashed, replica promoted", 1, saw, unlost(service, key, account, firsts)))
