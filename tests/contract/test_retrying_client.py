"""The retrying programs in api.md succeed although connections, requests and responses fail."""

import json
import os
import re
import time
import uuid
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import httpx
import pytest

from tests.contract.transports import Reply, SocketTransport
from tests.documents import block
from tests.http_server import Request, http_server
from tests.processes import inside, start
from tests.service import TLS, Service

pytestmark = pytest.mark.once

PYTHON = block("api.md", "retry-python")
SHELL = block("api.md", "retry-shell")
# The minimum and the maximum pause before each retry, in seconds.
PAUSES = [(0.25, 0.35), (0.5, 0.6), (1.0, 1.1), (2.0, 2.1)]
SHORT_OR_INVALID = ("0", "Wed, 21 Oct 2099 07:28:00 GMT", "-5", "soon", "")


class Fault(Enum):
    """A fault between a client and the service."""

    DROPPED = auto()  # the connection ends before the service receives the request
    LOST = auto()  # the service processes the request, and the connection ends before the response
    CUT_SHORT = auto()  # the service processes the request, and the connection ends within the response
    LATE = auto()  # the service processes the request, and the response comes after the client's timeout


class FailingProxy(NamedTuple):
    """The URL of a running proxy, and the requests that it has received."""

    url: str
    requests: list[Request]

    @property
    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]


@contextmanager
def failing_proxy(answers: Callable[[Request], Reply], steps: Sequence[Fault | Reply | None]) -> Iterator[FailingProxy]:
    """Run a proxy that treats each request according to the next of `steps`.

    A step is a fault, a response of the proxy itself, or None for the service's response. After the last step, every
    request gets the service's response.
    """
    remaining, requests, is_over = list(steps), list[Request](), Event()

    def answer(request: Request) -> Reply | None:
        requests.append(request)
        step = remaining.pop(0) if remaining else None
        if step is Fault.DROPPED:
            return None
        reply = step if isinstance(step, Reply) else answers(request)
        if step is Fault.LATE:
            is_over.wait(20)
        if step in (Fault.LATE, Fault.LOST):
            return None
        kept = [header for header in reply.headers if header[0].lower() not in ("connection", "content-length")]
        kept.append(("Content-Length", str(len(reply.body))))
        return Reply(reply.status, kept, reply.body[:-1] if step is Fault.CUT_SHORT else reply.body)

    with http_server(answer) as url:
        try:
            yield FailingProxy(url, requests)
        finally:
            is_over.set()


class Pets:
    """A fake service that creates one pet for each idempotency key, and one for each POST without a key."""

    def __init__(self) -> None:
        self.by_key: dict[str, dict[str, str]] = {}

    def __call__(self, request: Request) -> Reply:
        if request.method == "GET":
            return Reply(200, [], json.dumps(list(self.by_key.values())).encode())
        key = request.header("Idempotency-Key") or str(uuid.uuid4())
        pet = self.by_key.setdefault(key, {"id": str(uuid.uuid4()), **json.loads(request.body)})
        return Reply(201, [], json.dumps(pet).encode())


def failure(status: int, **headers: str) -> Reply:
    """Return an error response with a message of its own; `retry_after` becomes the header Retry-After."""
    body = {"error": {"code": "on_purpose", "message": f"On purpose: {uuid.uuid4()}."}}
    return Reply(
        status, [(name.replace("_", "-"), value) for name, value in headers.items()], json.dumps(body).encode()
    )


class Run(NamedTuple):
    """The result of a program."""

    succeeded: bool
    output: str
    errors: str
    waits: list[float]


Program = Callable[..., Run]


@pytest.fixture(params=["python", "shell"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    """A function that runs a program of the guide, whose pauses are recorded and skipped."""
    waits, sleep, output, errors = (tmp_path / name for name in ("waits", "sleep", "output", "errors"))
    sleep.write_text(f"#!/bin/sh\necho \"$*\" >> '{waits}'\n")
    sleep.chmod(0o755)
    without_pauses = f"import time\ntime.sleep = lambda wait: print(wait, file=open({str(waits)!r}, 'a'))\n"
    path = tmp_path / "program"
    command, source = {
        "python": ([str(path)], without_pauses + PYTHON),
        # With the strictest options of a script into which a reader may paste it.
        "shell": (inside("sh", "-eu", str(path), command=[]), SHELL),
    }[request.param]

    def run(url: str, key: str = "pets_test_key", timeout: int = 10) -> Run:
        for file in (waits, output, errors):
            file.write_text("")
        text, changes = re.subn(r"(timeout=|--max-time )10\b", rf"\g<1>{timeout}", source)
        assert changes == 1
        path.write_text(text)
        # The program must use no proxy that this machine is configured for, and need not load its certificates.
        variables = {"PETS_URL": f"{url}/v1", "PETS_API_KEY": key, "no_proxy": "*", "SSL_CERT_DIR": str(tmp_path)}
        environment = os.environ | variables | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        status = start(command, environment, output, errors).wait(timeout=60)
        waited = [float(wait) for wait in waits.read_text().split()]
        return Run(status == 0, output.read_text(), errors.read_text(), waited)

    return run


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The functions of the Python program, which itself does not run; pauses are skipped."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    names: dict[str, Any] = {"__name__": "pets"}
    exec(PYTHON, names)
    return names


def client(url: str, key: str = "pets_test_key") -> httpx.Client:
    return httpx.Client(base_url=f"{url}/v1", headers={"X-API-Key": key}, timeout=30, trust_env=False, verify=TLS)


@pytest.mark.parametrize(
    "steps",
    [
        [failure(500), failure(503), Fault.DROPPED, Fault.LOST],
        [Fault.LOST, failure(409, retry_after="1"), failure(502), failure(504)],
        [failure(429, retry_after="17"), failure(429, retry_after="1")],
        [Fault.LOST, Fault.CUT_SHORT, Fault.LOST, Fault.CUT_SHORT],
        [Fault.LATE],
    ],
)
def test_one_pet_is_created_after_any_series_of_faults(program: Program, steps: list[Fault | Reply]) -> None:
    pets, timeout = Pets(), 1 if Fault.LATE in steps else 10
    with failing_proxy(pets, steps) as proxy:
        run = program(proxy.url, key="pets_test_secret", timeout=timeout)
        sent = proxy.posts.copy()
        assert program(proxy.url).succeeded

    pet, _ = pets.by_key.values()  # the second run has another key
    assert (pet["name"], pet["tag"]) == ("Rex", "dog")
    assert run.succeeded, run.errors
    # The new pet is all that the shell program prints, and the only one that the other lists.
    assert [literal_eval(line) for line in run.output.splitlines()] in ([pet], [pet, pet])
    first, *others = sent
    assert others == [first] * max(len(steps), len(others))  # on a busy machine, several responses may be late
    assert first.header("Idempotency-Key")
    assert first.header("X-API-Key") == "pets_test_secret"
    assert json.loads(first.body) == {"name": "Rex", "tag": "dog"}


@pytest.mark.parametrize(
    ("steps", "pauses"),
    [
        ([Fault.DROPPED] * 5, PAUSES),
        ([failure(503) for _ in range(5)], PAUSES),
        *(([failure(503, retry_after=text) for _ in range(5)], PAUSES) for text in SHORT_OR_INVALID),
        *(([failure(status, retry_after="1")], []) for status in (400, 401, 403, 404, 422)),
        # Another attempt succeeds.
        (
            [failure(409, retry_after="1"), failure(429, retry_after="30"), failure(503, retry_after="1")],
            [(1, 1), (30, 30), (1, 1.1)],
        ),
    ],
)
def test_program_gives_up_after_growing_pauses_or_a_client_error_and_prints_the_last_message(
    program: Program, steps: list[Fault | Reply], pauses: list[tuple[float, float]]
) -> None:
    with failing_proxy(Pets(), steps) as proxy:
        run = program(proxy.url)

    assert run.succeeded == (len(steps) == len(pauses))
    assert len(proxy.posts) == len(pauses) + 1
    if not run.succeeded and isinstance(steps[-1], Reply):
        assert steps[-1].error["message"] in run.output + run.errors
    jitter = {round(wait - minimum, 3) for wait, (minimum, _) in zip(run.waits, pauses, strict=True)}
    assert len(jitter) > 1 or pauses != PAUSES
    for wait, (minimum, maximum) in zip(run.waits, pauses, strict=True):
        assert minimum <= wait <= maximum


@pytest.mark.parametrize("step", [failure(500), failure(503, retry_after="1"), Fault.DROPPED, Fault.LOST])
def test_post_without_an_idempotency_key_is_sent_once(functions: dict[str, Any], step: Fault | Reply) -> None:
    pets = Pets()
    with failing_proxy(pets, [step]) as proxy, client(proxy.url) as http, pytest.raises(httpx.HTTPError):
        functions["call"](http, "POST", "/pets", json={"name": "Rex"})

    assert len(proxy.posts) == 1
    assert len(pets.by_key) == (1 if step is Fault.LOST else 0)


def test_every_pet_is_listed_once_although_pages_fail(
    functions: dict[str, Any], service: Service, service_key: str
) -> None:
    steps: list[Fault | Reply | None] = [failure(500), None, Fault.DROPPED, Fault.CUT_SHORT]

    def fetch(request: Request) -> Reply:
        headers = [header for header in request.headers if header[0] != "Connection"]
        return SocketTransport({}, service.url).send(request.method, request.target, headers, request.body)

    with service.client(service_key) as direct, failing_proxy(fetch, steps) as proxy:
        for name in ("Tom", "Polly", "Mimi"):
            direct.post("/v1/pets", json={"name": name})
        with client(proxy.url, service_key) as http:
            listed = list(functions["list_pets"](http, limit=2))
        pets = direct.get("/v1/pets?limit=1000").json()

    assert listed == pets
    assert all(request.header("Idempotency-Key") is None for request in proxy.requests)
    assert len(proxy.requests) == len(steps) - 1 + (len(pets) + 1) // 2
