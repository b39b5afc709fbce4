"""The worker in trouble: slow and greedy clients, calls that wait, hang or fail, and the end of it all."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from petservice.server import asgi
from tests.conftest import ROOT, Service, fresh_database_url, make_certificate, running_service, wait_until
from tests.server.connections import Client, get, post

pytestmark = pytest.mark.once

Connect = Callable[[Service], Client]

CHUNKED = b"Transfer-Encoding: chunked"
# As many pages are made at a time.
PAGE_THREADS = asgi.PAGE_THREADS
PLANTED = ("-m", "tests.server.run_planted")


def planted(folder: Path, *options: str, **variables: str) -> AbstractContextManager[Service]:
    """The service with the planted paths, in one worker process."""
    variables = {"PLANTED": str(folder), "WEB_CONCURRENCY": "1", **variables}
    return running_service(folder, command=(*PLANTED, *options), **variables)


def asked(client: Client, path: str) -> int:
    """The number with which the worker that has the client's connection responds."""
    client.send(get(path))
    return int(client.answer().body)


def open_connections(client: Client) -> int:
    """How many connections the client's worker has."""
    return asked(client, "/v1/open")


def worker_of(client: Client) -> int:
    """The process id of the worker that has the client's connection."""
    return asked(client, "/v1/worker")


def workers(service: Service) -> list[int]:
    return [int(pid) for pid in re.findall(r"Booting worker with pid: (\d+)", service.log.read_text())]


def held(folder: Path) -> int:
    return len(list(folder.glob("held-*")))


def release(folder: Path) -> None:
    (folder / "released").touch()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("planted")


@pytest.fixture(scope="module")
def impatient(folder: Path) -> Iterator[Service]:
    """With a deadline of two seconds for requests."""
    with planted(folder, PLANTED_DEADLINE="2") as service:
        yield service


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connects to a service until the test is over."""
    with ExitStack() as stack:
        yield lambda service: stack.enter_context(Client(service))


# Deadlines.


@pytest.mark.parametrize(
    ("part", "has_response"),
    [
        pytest.param(b"", False, id="nothing"),
        pytest.param(b"GET /v1/he", True, id="half a request line"),
        pytest.param(b"GET /v1/health HTTP/1.1\r\nHost: loc", True, id="half a header"),
        pytest.param(post("guess", b"{", length=100), True, id="half a body"),
        pytest.param(
            get("/v1/pets", b"Transfer-Encoding: chunked", method="POST") + b"5\r\n{", True, id="half a chunk"
        ),
        pytest.param(get("/admin/", b"Content-Length: 100", method="POST"), True, id="half an upload"),
    ],
)
def test_slow_client_is_cut_off_and_disturbs_nobody(
    impatient: Service, connect: Connect, part: bytes, has_response: bool
) -> None:
    slow = [connect(impatient) for _ in range(50)]
    for client in slow:
        client.send(part)
    with Client(impatient) as other:
        other.send(get("/v1/meta"))
        assert other.answer().status == 200

    for client in slow:
        if has_response:
            answer = client.answer()
            assert answer.status in (400, 401)
            assert b'{"error":' in answer.body
        client.socket.shutdown(socket.SHUT_WR)
        assert client.is_closed()


def test_client_that_sends_a_byte_now_and_then_is_cut_off(impatient: Service) -> None:
    with Client(impatient) as client:
        client.socket.settimeout(0.1)
        sent = 0
        answer = b""
        while not answer:
            client.send(b"GET /v1/health"[sent % 14 : sent % 14 + 1])
            sent += 1
            assert sent < 100, "it may go on for ever"
            try:
                answer = client.socket.recv(1000)
            except TimeoutError:
                continue

    assert answer.startswith(b"HTTP/1.1 400 ")


def test_client_that_takes_no_more_of_a_response_is_cut_off(impatient: Service) -> None:
    with Client(impatient) as other:
        others = open_connections(other)
        with Client(impatient) as client:
            client.send(get("/export"))
            assert client.socket.recv(1000)

            wait_until(lambda: open_connections(other) == others, seconds=15)


# Calls.


def test_pages_that_wait_hold_neither_the_api_nor_readiness(tmp_path: Path, connect: Connect) -> None:
    with fresh_database_url(tmp_path) as url, planted(tmp_path, DATABASE_URL=url) as service:
        clients = [connect(service) for _ in range(8)]
        for client in clients:
            client.send(get("/held"))
        wait_until(lambda: held(tmp_path))

        with Client(service) as other:
            other.send(get("/v1/health"))
            assert other.answer().body == b'{"status":"ok"}'
            other.send(get("/v1/meta"))
            assert other.answer().status == 200
            other.send(get("/ready"))
            assert other.answer().status == 503, "the database is there, and not migrated"

        release(tmp_path)
        assert [client.answer().status for client in clients] == [200] * 8


def test_crash_is_answered_and_logged_once_and_the_service_goes_on(impatient: Service) -> None:
    with Client(impatient) as client:
        client.send(get("/v1/crash"))
        answer = client.answer()
    with Client(impatient) as client:
        client.send(get("/v1/meta"))
        assert client.answer().status == 200

    assert answer.status == 500
    assert json.loads(answer.body)["error"]["code"] == "internal_error"
    log = impatient.log.read_text()
    assert log.count("RuntimeError: the planted cause") == 1


def test_large_response_arrives_whole(impatient: Service) -> None:
    with impatient.client() as client:
        response = client.get("/export")
        assert response.headers["content-length"] == str(32 * 2**20)
        assert len(response.content) == 32 * 2**20
        head = client.head("/export")
        assert (head.headers["content-length"], head.content) == (str(32 * 2**20), b"")


def test_page_that_fails_half_way_is_an_internal_error(impatient: Service) -> None:
    with Client(impatient) as client:
        client.send(get("/breaking-export", b"X-Request-ID: half-way"))
        answer = client.answer()
        assert (answer.status, answer.headers["x-request-id"]) == (500, "half-way")
        assert json.loads(answer.body)["error"]["code"] == "internal_error"

        client.send(get("/v1/health"))
        assert client.answer().status == 200


def test_malformed_chunk_behind_the_response_puts_nothing_into_it(impatient: Service) -> None:
    with Client(impatient) as client:
        client.send(get("/v1/meta", CHUNKED, method="POST"), b"11170\r\n", b"x" * 70_000, b"\r\n")
        received = client.socket.recv(1000)
        client.send(b"no chunk\r\n")
        client.socket.shutdown(socket.SHUT_WR)
        received += b"".join(iter(lambda: client.socket.recv(2**20), b""))

    assert received.count(b"HTTP/1.1 ") == 1


def test_clients_that_read_slowly_hold_no_thread(tmp_path: Path, connect: Connect) -> None:
    with planted(tmp_path) as service:
        slow = [connect(service) for _ in range(2 * PAGE_THREADS)]
        for client in slow:
            client.send(get("/export"))
        for client in slow:
            assert client.socket.recv(1000)

        with Client(service) as other:
            other.socket.settimeout(5)
            other.send(get("/meta"))
            assert other.answer().status == 200


def test_page_whose_client_left_before_its_turn_is_not_made(tmp_path: Path, connect: Connect) -> None:
    with planted(tmp_path) as service:
        holding = [connect(service) for _ in range(PAGE_THREADS)]
        for client in holding:
            client.send(get("/held"))
        wait_until(lambda: held(tmp_path) == PAGE_THREADS)
        other = connect(service)
        with Client(service) as leaving:
            leaving.send(get("/v1/meta"))
            assert leaving.answer().status == 200
            leaving.send(get("/begun"))
        wait_until(lambda: open_connections(other) == PAGE_THREADS + 1)

        release(tmp_path)

        assert [client.answer().status for client in holding] == [200] * PAGE_THREADS
        for client in holding:  # whatever was before these has been done when they are
            client.send(get("/meta"))
        assert [client.answer().status for client in holding] == [200] * PAGE_THREADS
        assert not (tmp_path / "begun").exists()


def test_call_that_hangs_has_its_worker_replaced(tmp_path: Path) -> None:
    with planted(tmp_path, "--timeout", "3") as service:
        (first,) = workers(service)
        with Client(service) as client:
            client.send(get("/hanging"))
            assert client.is_closed()
        wait_until(lambda: len(workers(service)) == 2)

        with Client(service) as client:
            client.send(get("/v1/meta"))
            assert client.answer().status == 200
        log = service.log.read_text()
        assert f"WORKER TIMEOUT (pid:{first})" in log
        assert "The worker hangs:" in log
        assert re.search(r'planted.py", line \d+ in get_response', log), "the log shows where it hung"


@pytest.mark.long
def test_a_readiness_probe_that_hangs_does_not_replace_the_worker(tmp_path: Path) -> None:
    (tmp_path / "silent").touch()
    with planted(tmp_path, "--timeout", "2", PLANTED_CALL_TIMEOUT="0.2") as service, Client(service) as client:
        (first,) = workers(service)
        client.send(get("/ready"))
        assert client.answer().status == 503

        until = time.monotonic() + 7  # three times what ends a worker that hangs
        while time.monotonic() < until:
            client.send(get("/v1/worker"))
            assert client.answer().body == str(first).encode()
        (tmp_path / "released").touch()


def test_worker_with_a_waiting_client_is_not_taken_for_hanging(tmp_path: Path) -> None:
    with planted(tmp_path, "--timeout", "2") as service:
        with Client(service) as client:
            client.send(get("/export"))
            until = time.monotonic() + 8
            while time.monotonic() < until:
                assert client.socket.recv(4096)
                time.sleep(0.1)  # so slow a client
        assert len(workers(service)) == 1


# Limits.


def test_connections_beyond_the_limit_wait_for_room(tmp_path: Path, connect: Connect) -> None:
    with planted(tmp_path, "--worker-connections", "3") as service:
        clients = [connect(service) for _ in range(3)]
        for client in clients:
            client.send(get("/v1/meta"))
            assert client.answer().status == 200
        with Client(service) as waiting:
            waiting.send(get("/v1/meta"))
            waiting.socket.settimeout(1)
            with pytest.raises(TimeoutError):
                waiting.answer()

            clients[0].socket.close()

            waiting.socket.settimeout(30)
            assert waiting.answer().status == 200


ENDED_AFTER = {"whole": get("/v1/health"), "malformed": b"nonsense\r\n\r\n", "cut": b"GET /half"}


@pytest.mark.parametrize("sent", ENDED_AFTER.values(), ids=ENDED_AFTER)
def test_connections_that_have_ended_leave_nothing(tmp_path: Path, sent: bytes) -> None:
    with planted(tmp_path) as service, Client(service) as lasting:
        for _ in range(20):
            with Client(service) as client:
                client.send(sent)
        wait_until(lambda: asked(lasting, "/v1/connections") == 1)


# The end.


def test_stop_lets_requests_finish_and_announces_itself_on_kept_connections(tmp_path: Path, connect: Connect) -> None:
    with planted(tmp_path) as service:
        busy, kept, silent = (connect(service) for _ in range(3))
        kept.send(get("/v1/meta"))
        assert "connection" not in kept.answer().headers
        busy.send(get("/held"))
        wait_until(lambda: held(tmp_path))

        answers = []

        def is_announced() -> bool:
            kept.send(get("/v1/health"))
            answers.append(kept.answer())
            return "connection" in answers[-1].headers

        service.process.send_signal(signal.SIGTERM)

        wait_until(is_announced)  # its worker hears of the stop some time after the master
        assert {answer.status for answer in answers} == {200}
        assert answers[-1].headers["connection"] == "close"
        assert silent.is_closed()
        assert service.process.poll() is None
        release(tmp_path)
        last = busy.answer()
        assert (last.status, last.headers["connection"]) == (200, "close")
        assert busy.is_closed()
        assert service.process.wait(timeout=20) == 0


def test_stop_ends_no_connection_without_announcing_it(tmp_path: Path) -> None:
    # The pool around the service: its threads end with that, whatever else fails.
    with ThreadPoolExecutor() as pool, planted(tmp_path) as service:
        answered = set()

        def ask_until_announced(number: int) -> str:
            with Client(service) as client:
                while True:
                    client.send(get("/v1/health"))
                    answer = client.answer()
                    answered.add(number)
                    if "connection" in answer.headers:
                        return answer.headers["connection"]

        clients = [pool.submit(ask_until_announced, number) for number in range(4)]
        wait_until(lambda: len(answered) == len(clients))
        service.process.send_signal(signal.SIGTERM)

        assert [client.result() for client in clients] == ["close"] * len(clients)


def test_stop_does_not_wait_for_idle_connections(tmp_path: Path, connect: Connect) -> None:
    with planted(tmp_path) as service:
        clients = [connect(service) for _ in range(5)]
        clients[0].send(get("/v1/meta"))
        assert clients[0].answer().status == 200

        service.process.send_signal(signal.SIGTERM)

        assert service.process.wait(timeout=5) == 0, "sooner than a kept connection would end"


def test_stop_does_not_wait_for_clients_that_have_left(tmp_path: Path) -> None:
    with planted(tmp_path) as service:
        with ExitStack() as stack:
            for _ in range(20):  # each with a response that finds nobody
                stack.enter_context(Client(service)).send(get("/held"))
            wait_until(lambda: held(tmp_path) == PAGE_THREADS)
        release(tmp_path)

        service.process.send_signal(signal.SIGTERM)

        assert service.process.wait(timeout=8) == 0


# Where it listens.


def test_unix_socket_has_no_address_and_is_trusted(tmp_path: Path) -> None:
    with planted(tmp_path, "--bind", f"unix:{tmp_path}/socket") as service, socket.socket(socket.AF_UNIX) as client:
        wait_until((tmp_path / "socket").exists)
        client.connect(f"{tmp_path}/socket")
        client.sendall(get("/v1/meta", b"X-Forwarded-Proto: https", b"Connection: close"))
        meta = json.loads(b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")[2])

        assert service.process.poll() is None
    assert "REMOTE_ADDR" not in meta
    assert meta["scheme"] == "https"


def test_meta_of_a_request_is_that_of_wsgi(impatient: Service) -> None:
    request = get(
        "/v1/me%74a?a=%20%C3%A9&b",
        *(b"X-Twice: 1", b"x-twice: 2", b"X_Under: 1", b"Content-Type: a/b", b"X-Forwarded-Proto: https"),
        b"Content-Length: 3",
        method="PUT",
    )
    with Client(impatient) as client:
        client.send(request, b"abc")
        meta = json.loads(client.answer().body)

    port = impatient.url.rpartition(":")[2]
    expected = {
        "REQUEST_METHOD": "PUT",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/v1/meta",
        "QUERY_STRING": "a=%20%C3%A9&b",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": port,
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost",
        "HTTP_X_TWICE": "1,2",
        "CONTENT_TYPE": "a/b",
        "CONTENT_LENGTH": "3",
        "scheme": "https",
        "body": 3,
    }
    assert {name: meta.get(name) for name in expected} == expected
    assert "HTTP_X_UNDER" not in meta
    assert "HTTP_CONTENT_LENGTH" not in meta


@pytest.fixture
def certificate(tmp_path: Path) -> dict[str, str]:
    """The variables that name a certificate for localhost and its key."""
    file, key = make_certificate(tmp_path)
    return {"TLS_CERTFILE": str(file), "TLS_KEYFILE": str(key)}


@pytest.fixture
def https(tmp_path: Path, certificate: dict[str, str]) -> Iterator[Service]:
    """With TLS of its own, and the planted deadline."""
    with planted(tmp_path, PLANTED_DEADLINE="2", **certificate) as service:
        yield service


def test_tls_is_spoken_from_1_2_on(https: Service, certificate: dict[str, str]) -> None:
    context = ssl.create_default_context(cafile=certificate["TLS_CERTFILE"])
    with Client(https, context=context) as client:
        for _ in range(3):
            client.send(get("/v1/meta"))
            assert json.loads(client.answer().body)["scheme"] == "https"
        client.send(get("/export"))
        received = 0
        while received < 32 * 2**20:
            received += len(client.socket.recv(2**20))

    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with Client(https, context=context) as client:
        client.send(get("/v1/health"))
        assert client.answer().status == 200

    context.set_ciphers("ALL:@SECLEVEL=0")  # else this client would not even ask for less
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that it is old is the point
        context.minimum_version = ssl.TLSVersion.TLSv1_1
        with Client(https, context=context) as client:
            assert client.socket.version() == "TLSv1.2", "with the same ciphers"
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError) as refused, Client(https, context=context):
        pass
    # Python 3.11 ends the connection without the alert that TLS has for it.
    by_the_service = isinstance(refused.value, ssl.SSLEOFError) or "ALERT_PROTOCOL_VERSION" in refused.value.reason
    assert by_the_service, refused.value


def test_handshake_that_does_not_happen_holds_nobody(
    https: Service, certificate: dict[str, str], connect: Connect
) -> None:
    for sent in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01"):
        connect(https).send(sent)
    context = ssl.create_default_context(cafile=certificate["TLS_CERTFILE"])
    with Client(https, context=context) as client:
        client.send(get("/v1/meta"))
        assert client.answer().status == 200
    silent = connect(https)
    assert silent.is_closed(), "by the deadline"
    assert "Traceback" not in https.log.read_text()


def test_client_that_has_been_accepted_before_the_stop_is_answered(
    https: Service, certificate: dict[str, str], connect: Connect
) -> None:
    context = ssl.create_default_context(cafile=certificate["TLS_CERTFILE"])
    early = connect(https)
    with Client(https, context=context) as later:
        later.send(get("/v1/meta", b"Connection: close"))
        assert later.answer().status == 200, "and it has been accepted after the other"

    https.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "Handling signal: term" in https.log.read_text())

    with context.wrap_socket(early.socket, server_hostname="localhost") as early.socket:
        early.send(get("/v1/meta"))
        assert early.answer().status == 200


def test_certificate_that_cannot_be_used_ends_the_start(tmp_path: Path, certificate: dict[str, str]) -> None:
    Path(certificate["TLS_KEYFILE"]).write_text("no key")
    arguments = [sys.executable, *PLANTED, "--bind", "127.0.0.1:0"]
    environment = os.environ | certificate | {"PLANTED": str(tmp_path), "PETSERVICE_DATA_DIR": str(tmp_path)}

    ended = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=30)

    assert ended.returncode != 0
    assert "Worker failed to boot" in ended.stderr


def test_a_stranger_cannot_claim_https(tmp_path: Path) -> None:
    with planted(tmp_path, FORWARDED_ALLOW_IPS="192.0.2.1") as service, Client(service) as client:
        client.send(get("/v1/meta", b"X-Forwarded-Proto: https"))
        assert json.loads(client.answer().body)["scheme"] == "http"


def test_ipv6(tmp_path: Path) -> None:
    with planted(tmp_path, "--bind", "[::1]:0") as service:
        port = int(
            re.findall(r"Listening at: \S*http://\[::1\]:(\d+)|http://\[::1\]:(\d+)", service.log.read_text())[0][0]
        )
        with socket.create_connection(("::1", port)) as client:
            client.sendall(get("/v1/meta", b"Connection: close"))
            meta = json.loads(b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")[2])
    assert meta["REMOTE_ADDR"] == meta["SERVER_NAME"] == "::1"
