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
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.conftest import ROOT, Service, fresh_database_url, make_certificate, running_service, wait_until
from tests.server.connections import Client, get, post

pytestmark = pytest.mark.once

Connect = Callable[[Service], Client]

CHUNKED = b"Transfer-Encoding: chunked"
PLANTED = ("-m", "gunicorn", "--config", "python:petservice.server.gunicorn_conf", "tests.server.planted:application")


def planted(folder: Path, *options: str, **variables: str) -> AbstractContextManager[Service]:
    """The service with the planted paths, in one worker process."""
    variables = {"PLANTED": str(folder), "WEB_CONCURRENCY": "1", **variables}
    return running_service(folder, command=(*PLANTED, *options), **variables)


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
    ("part", "answered"),
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
    impatient: Service, connect: Connect, part: bytes, answered: bool
) -> None:
    slow = [connect(impatient) for _ in range(50)]
    for client in slow:
        client.send(part)
    with Client(impatient) as other:
        other.send(get("/v1/environ"))
        assert other.answer().status == 200

    for client in slow:
        if answered:
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


def test_client_that_takes_no_more_of_an_answer_is_cut_off(impatient: Service, folder: Path) -> None:
    (folder / "export-closed").unlink(missing_ok=True)
    with Client(impatient) as client:
        client.send(get("/export"))

        wait_until((folder / "export-closed").exists, seconds=15)


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
            other.send(get("/v1/environ"))
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
        client.send(get("/v1/environ"))
        assert client.answer().status == 200

    assert answer.status == 500
    assert json.loads(answer.body)["error"]["code"] == "internal_error"
    log = impatient.log.read_text()
    assert log.count("RuntimeError: the planted cause") == 1


def test_streamed_answer_arrives_whole(impatient: Service) -> None:
    with impatient.client() as client:
        assert len(client.get("/export").content) == 64 * 2**20


def test_stream_that_breaks_is_not_taken_for_a_whole(impatient: Service) -> None:
    with Client(impatient) as client:
        client.send(get("/breaking-export"))
        received = b"".join(iter(lambda: client.socket.recv(2**20), b""))

    assert received.count(b"x" * 1000) >= 1000
    assert not received.endswith(b"0\r\n\r\n")


def test_malformed_chunk_within_the_answer_puts_nothing_into_it(impatient: Service) -> None:
    with Client(impatient) as client:
        client.send(get("/v1/environ", CHUNKED, method="POST"), b"11170\r\n", b"x" * 70_000, b"\r\n")
        received = client.socket.recv(1000)
        client.send(b"no chunk\r\n")
        client.socket.shutdown(socket.SHUT_WR)
        received += b"".join(iter(lambda: client.socket.recv(2**20), b""))

    assert received.count(b"HTTP/1.1 ") == 1


def test_client_that_leaves_a_stream_ends_it(impatient: Service, folder: Path) -> None:
    (folder / "export-closed").unlink(missing_ok=True)
    with Client(impatient) as client:
        client.send(get("/export"))
        assert client.socket.recv(1000)

    wait_until((folder / "export-closed").exists)


def test_call_that_hangs_has_its_worker_replaced(tmp_path: Path) -> None:
    with planted(tmp_path, "--timeout", "3") as service:
        (first,) = workers(service)
        with Client(service) as client:
            client.send(get("/hanging"))
            assert client.is_closed()
        wait_until(lambda: len(workers(service)) == 2)

        with Client(service) as client:
            client.send(get("/v1/environ"))
            assert client.answer().status == 200
        log = service.log.read_text()
        assert f"WORKER TIMEOUT (pid:{first})" in log
        assert "in __call__" in log, "the log shows where it hung"


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
            client.send(get("/v1/environ"))
            assert client.answer().status == 200
        with Client(service) as waiting:
            waiting.send(get("/v1/environ"))
            waiting.socket.settimeout(1)
            with pytest.raises(TimeoutError):
                waiting.answer()

            clients[0].socket.close()

            waiting.socket.settimeout(30)
            assert waiting.answer().status == 200


def known(client: Client) -> int:
    """The connections of the worker that has the client's."""
    client.send(get("/v1/connections"))
    return int(client.answer().body)


def worker_of(client: Client) -> int:
    """The process id of the worker that has the client's connection."""
    client.send(get("/v1/worker"))
    return int(client.answer().body)


def test_new_connections_go_to_the_worker_that_has_the_fewest(tmp_path: Path, connect: Connect) -> None:
    # None is taken back in time to be answered, so each must be fetched.
    with planted(tmp_path, PLANTED_PROMPT="60") as service:
        (old,) = {worker_of(connect(service)) for _ in range(16)}
        service.process.send_signal(signal.SIGTTIN)  # one worker more
        wait_until(lambda: worker_of(connect(service)) != old)

        assert old not in {worker_of(connect(service)) for _ in range(14)}


def test_clients_that_come_at_once_are_shared_out_evenly(tmp_path: Path, connect: Connect) -> None:
    clients: list[Client] = []

    def both_workers_have_begun() -> bool:
        clients.append(connect(service))
        return len(set(map(worker_of, clients))) == 2

    with planted(tmp_path, WEB_CONCURRENCY="2") as service:
        wait_until(both_workers_have_begun)
        for _ in range(4):
            clients += [connect(service) for _ in range(5)]
        few, many = sorted(Counter(map(worker_of, clients)).values())
        # A worker may accept one just as it is given another.
        assert many - few <= 2


def test_worker_that_stands_still_is_not_waited_for(tmp_path: Path, connect: Connect) -> None:
    with planted(tmp_path) as service:
        (old,) = {worker_of(connect(service)) for _ in range(4)}
        service.process.send_signal(signal.SIGTTIN)
        wait_until(lambda: worker_of(connect(service)) != old)
        os.kill(workers(service)[1], signal.SIGSTOP)
        try:
            for _ in range(4):
                client = connect(service)
                client.socket.settimeout(5)
                assert worker_of(client) == old
        finally:
            os.kill(workers(service)[1], signal.SIGCONT)


ENDED_AFTER = {"whole": get("/v1/health"), "malformed": b"nonsense\r\n\r\n", "cut": b"GET /half"}


@pytest.mark.parametrize("sent", ENDED_AFTER.values(), ids=ENDED_AFTER)
def test_connections_that_have_ended_leave_nothing(tmp_path: Path, sent: bytes) -> None:
    with planted(tmp_path) as service, Client(service) as lasting:
        for _ in range(20):
            with Client(service) as client:
                client.send(sent)
        wait_until(lambda: known(lasting) == 1)


def test_connection_whose_client_has_ended_its_half_ends_with_the_answer(tmp_path: Path) -> None:
    options = ("--worker-class", "tests.server.planted.Midway")
    with planted(tmp_path, *options) as service, Client(service) as client:
        client.send(get("/v1/health?midway"))
        wait_until((tmp_path / "midway").exists)
        client.socket.shutdown(socket.SHUT_WR)
        client.socket.settimeout(10)  # an idle connection would last for 15 seconds
        assert client.answer().status == 200
        assert client.is_closed()


# The end.


def test_stop_lets_requests_finish_and_tells_kept_connections(tmp_path: Path, connect: Connect) -> None:
    with planted(tmp_path) as service:
        busy, kept, silent = (connect(service) for _ in range(3))
        kept.send(get("/v1/environ"))
        assert "connection" not in kept.answer().headers
        busy.send(get("/held"))
        wait_until(lambda: held(tmp_path))

        answers = []

        def is_told() -> bool:
            kept.send(get("/v1/health"))
            answers.append(kept.answer())
            return "connection" in answers[-1].headers

        service.process.send_signal(signal.SIGTERM)

        wait_until(is_told)  # its worker hears of the stop some time after the master
        assert {answer.status for answer in answers} == {200}
        assert answers[-1].headers["connection"] == "close"
        assert silent.is_closed()
        assert service.process.poll() is None
        release(tmp_path)
        last = busy.answer()
        assert (last.status, last.headers["connection"]) == (200, "close")
        assert busy.is_closed()
        assert service.process.wait(timeout=20) == 0


def test_stop_ends_no_connection_whose_client_has_not_been_told(tmp_path: Path) -> None:
    # The pool around the service: its threads end with that, whatever else fails.
    with ThreadPoolExecutor() as pool, planted(tmp_path) as service:
        answered = set()

        def ask_until_told(number: int) -> str:
            with Client(service) as client:
                while True:
                    client.send(get("/v1/health"))
                    answer = client.answer()
                    answered.add(number)
                    if "connection" in answer.headers:
                        return answer.headers["connection"]

        clients = [pool.submit(ask_until_told, number) for number in range(4)]
        wait_until(lambda: len(answered) == len(clients))
        service.process.send_signal(signal.SIGTERM)

        assert [client.result() for client in clients] == ["close"] * len(clients)


def test_stop_does_not_wait_for_idle_connections(tmp_path: Path, connect: Connect) -> None:
    with planted(tmp_path) as service:
        clients = [connect(service) for _ in range(5)]
        clients[0].send(get("/v1/environ"))
        assert clients[0].answer().status == 200

        service.process.send_signal(signal.SIGTERM)

        assert service.process.wait(timeout=5) == 0, "sooner than a kept connection would end"


def test_stop_does_not_wait_for_clients_that_have_left(tmp_path: Path) -> None:
    with planted(tmp_path) as service:
        for _ in range(20):  # each with an answer that finds nobody
            with Client(service) as client:
                client.send(get("/held"))
        wait_until(lambda: held(tmp_path))
        release(tmp_path)

        service.process.send_signal(signal.SIGTERM)

        assert service.process.wait(timeout=8) == 0


def test_reload_loses_no_request(tmp_path: Path) -> None:
    with planted(tmp_path) as service:
        service.process.send_signal(signal.SIGHUP)
        answered = 0
        while len(workers(service)) < 2 or answered < 200:
            with Client(service) as client:
                client.send(get("/v1/environ"))
                assert client.answer().status == 200
                answered += 1
        wait_until(lambda: "Worker exiting" in service.log.read_text())


# Where it listens.


def test_unix_socket_has_no_address_and_is_trusted(tmp_path: Path) -> None:
    with planted(tmp_path, "--bind", f"unix:{tmp_path}/socket") as service, socket.socket(socket.AF_UNIX) as client:
        wait_until((tmp_path / "socket").exists)
        client.connect(f"{tmp_path}/socket")
        client.sendall(get("/v1/environ", b"X-Forwarded-Proto: https", b"Connection: close"))
        environ = json.loads(b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")[2])

        assert service.process.poll() is None
    assert environ["REMOTE_ADDR"] == ""
    assert environ["wsgi.url_scheme"] == "https"


def test_environ_is_that_of_wsgi(impatient: Service) -> None:
    request = get(
        "/v1/en%76iron?a=%20%C3%A9&b",
        *(b"X-Twice: 1", b"x-twice: 2", b"X_Under: 1", b"Content-Type: a/b", b"X-Forwarded-Proto: https"),
        b"Content-Length: 3",
        method="PUT",
    )
    with Client(impatient) as client:
        client.send(request, b"abc")
        environ = json.loads(client.answer().body)

    port = impatient.url.rpartition(":")[2]
    assert (
        environ
        | {
            "REQUEST_METHOD": "PUT",
            "SCRIPT_NAME": "",
            "PATH_INFO": "/v1/environ",
            "QUERY_STRING": "a=%20%C3%A9&b",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": port,
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": "localhost",
            "HTTP_X_TWICE": "1,2",
            "CONTENT_TYPE": "a/b",
            "CONTENT_LENGTH": "3",
            "wsgi.url_scheme": "https",
            "body": 3,
        }
        == environ
    )
    assert "HTTP_X_UNDER" not in environ
    assert "HTTP_CONTENT_LENGTH" not in environ


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
            client.send(get("/v1/environ"))
            environ = json.loads(client.answer().body)
            assert environ["wsgi.url_scheme"] == "https"
        client.send(get("/export"))
        received = 0
        while received < 64 * 2**20:
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
        client.send(get("/v1/environ"))
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
        later.send(get("/v1/environ", b"Connection: close"))
        assert later.answer().status == 200, "and it has been accepted after the other"

    https.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "Handling signal: term" in https.log.read_text())

    with context.wrap_socket(early.socket, server_hostname="localhost") as early.socket:
        early.send(get("/v1/environ"))
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
        client.send(get("/v1/environ", b"X-Forwarded-Proto: https"))
        assert json.loads(client.answer().body)["wsgi.url_scheme"] == "http"


def test_ipv6(tmp_path: Path) -> None:
    with planted(tmp_path, "--bind", "[::1]:0") as service:
        port = int(
            re.findall(r"Listening at: \S*http://\[::1\]:(\d+)|http://\[::1\]:(\d+)", service.log.read_text())[0][0]
        )
        with socket.create_connection(("::1", port)) as client:
            client.sendall(get("/v1/environ", b"Connection: close"))
            environ = json.loads(b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")[2])
    assert environ["REMOTE_ADDR"] == environ["SERVER_NAME"] == "::1"
