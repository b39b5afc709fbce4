"""Requests fail soon while PostgreSQL is unavailable, and succeed as soon as it is available again."""

import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.load import Load, lost, running_load
from tests.faults.outages import (
    IMMEDIATE,
    MAX_WAIT,
    ONE_WORKER,
    OUTAGE,
    OUTCOMES,
    created,
    failures,
    first_requests,
    slowest,
)
from tests.faults.servers import Server
from tests.monitoring.observed import Observed
from tests.processes import inside
from tests.service import Service, free_port, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults
# Maximum seconds of an immediate response to one of many simultaneous requests.
IMMEDIATE_FOR_MANY = 3
# Maximum seconds of a stop, with a margin: 5 for the check of /ready, and 6 for the write of the use of API keys.
MAX_STOP = 15


def statuses_with_an_invented_session(service: Service) -> set[int]:
    """Return the statuses of a page on several connections, so that each worker gets requests."""
    cookie = {"Cookie": f"sessionid={32 * 'x'}"}
    with ExitStack() as stack:
        clients = [stack.enter_context(service.client()) for _ in range(8)]
        return {client.get("/admin/", headers=cookie).status_code for client in clients}


@pytest.mark.parametrize("is_silent", [False, True], ids=["stopped", "silent"])
def test_requests_fail_in_time_while_the_server_does_not_respond_and_succeed_afterwards(
    tmp_path: Path, server: Server, is_silent: bool
) -> None:
    max_wait = MAX_WAIT if is_silent else IMMEDIATE
    with running_service(tmp_path, DATABASE_URL=server.url, **(ONE_WORKER if is_silent else {})) as service:
        key = service.create_key()
        # Connect the worker before the fault, because new connections have a timeout of their own.
        assert is_ready(service)
        with running_load(Load(service, key, reads=True), 12, retrying=4) as load:
            load.wait_for(100)
            assert statuses_with_an_invented_session(service) == {302}
            if is_silent:
                server.suspend()
            else:
                server.stop()
            began = time.monotonic()
            # Whether this session exists is unknown now, so its owner is not sent to the login.
            assert is_silent or statuses_with_an_invented_session(service) == {500}
            rounds = []
            with service.client(key) as client:
                while len(rounds) < 3 or time.monotonic() < began + OUTAGE:
                    rounds.append([client.get(path) for path in ("/v1/health", "/v1/pets", "/ready")])
            health, pets, ready = zip(*rounds, strict=True)
            assert {response.status_code for response in pets} == {500}
            # The first check may have succeeded just before the fault, and its result is used for a second.
            codes = [response.status_code for response in ready]
            assert set(codes[codes.index(503) :]) == {503}
            assert ready[-1].json()["error"]["code"] == "unavailable"
            assert slowest(pets + ready) < max_wait
            assert failures(health) == []
            assert slowest(health) < IMMEDIATE
            ended = time.monotonic()
            if is_silent:
                server.resume()
                wait_until(lambda: client_succeeds(service, key), seconds=10)
            else:
                server.start()
            firsts = [response for response in first_requests(service, key) if response.request.url.path != "/ready"]
            wait_until(lambda: is_ready(service), seconds=10)
            load.wait_for(100)
        assert failures(firsts) == []
        assert slowest(firsts) < IMMEDIATE_FOR_MANY, "no requests have queued up"
        results = load.within(began, ended)
        assert "POST 500 internal_error" in results
        assert results <= {"POST 500 internal_error", "GET 500 internal_error"}
        # A silent server may still be processing the request that a client repeats.
        repeated = {"POST 409 conflict"} if is_silent else set()
        assert load.saw.keys() <= OUTCOMES | repeated
        assert load.slowest_failure() < max_wait, "no request waits for the end of the outage"
        text = service.log.read_text()
        assert "/v1/pets failed: " in text
        assert "petservice/fastpath/" not in text, "a traceback of each request would fill the log"
        load.created |= created(firsts)
        assert lost(load) == []


def test_requests_succeed_after_the_server_restarts_between_them(tmp_path: Path, server: Server) -> None:
    with running_service(tmp_path, DATABASE_URL=server.url, **ONE_WORKER) as service:
        key = service.create_key()
        assert client_succeeds(service, key)
        responses = first_requests(service, key)
        server.stop()
        server.start()
        responses += first_requests(service, key)  # all connections are dead now
        assert failures(responses) == []
        assert lost(Load(service, key, created=created(responses))) == []


@pytest.mark.parametrize("is_asked", [False, True])
def test_the_metrics_show_a_silent_server_although_no_client_asks_and_a_stop_does_not_wait_long_for_it(
    tmp_path: Path, server: Server, is_asked: bool
) -> None:
    metrics = f"127.0.0.1:{free_port()}"
    with (
        running_service(tmp_path, DATABASE_URL=server.url, METRICS_BIND=metrics, **ONE_WORKER) as service,
        service.client(service.create_key()) as client,
        ThreadPoolExecutor() as pool,
    ):
        observed = Observed(service, "", f"http://{metrics}/metrics")
        wait_until(lambda: observed.sample("petservice_ready") == 1)
        server.suspend()
        try:
            wait_until(lambda: observed.sample("petservice_ready") == 0)
            server.resume()
            wait_until(lambda: observed.sample("petservice_ready") == 1)
            assert client.get("/ready").status_code == client.get("/v1/pets").status_code == 200
            checks = observed.sample("petservice_queued_total", pool="readiness")
            wait_until(lambda: observed.sample("petservice_queued_total", pool="readiness") > checks)
            server.suspend()
            if is_asked:  # the request waits for five seconds, and a check that began now would for ten more
                waiting = pool.submit(client.get, "/v1/pets?x")
                wait_until(lambda: observed.sample("petservice_threads_in_use", pool="api") > 0)
            else:  # responses are up to two seconds old, and afterwards a check waits for the server
                wait_until(lambda: client.get("/ready").status_code == 503, seconds=10)
            service.process.terminate()
            assert service.process.wait(10 if is_asked else MAX_STOP) == 0
            assert not is_asked or waiting.result().status_code == 500
        finally:
            server.resume()


def client_succeeds(service: Service, key: str) -> bool:
    with service.client(key) as client:
        return client.get("/v1/pets?limit=1").status_code == 200


def is_ready(service: Service) -> bool:
    with service.client() as client:
        return client.get("/ready").status_code == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount, and listen at the port of name servers")
def test_requests_fail_in_time_while_the_name_servers_are_silent(tmp_path: Path) -> None:
    resolver = tmp_path / "resolv.conf"
    with ExitStack() as stack:
        for address in ("127.53.0.1", "127.53.0.2", "127.53.0.3"):
            stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)).bind((address, 53))
            with resolver.open("a") as file:
                file.write(f"nameserver {address}\n")
        mounted = f'mount --bind {resolver} /etc/resolv.conf; exec "$@"'
        command = inside("unshare", "--mount", "bash", "-euc", mounted, "bash", command=("manage.py", "serve"))
        variables = ONE_WORKER | {"DATABASE_URL": "postgres://petservice@db.pets.example/petservice"}
        service = stack.enter_context(running_service(tmp_path, command=command, **variables))
        client = stack.enter_context(service.client("pets_test_unknown"))

        responses = [client.get(path) for path in ("/v1/pets", "/v1/pets?x=1", "/ready")]

    assert [response.status_code for response in responses] == [500, 500, 503]
    assert slowest(responses) < MAX_WAIT
