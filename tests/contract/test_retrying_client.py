"""The programs that retry, as api.md has them, against a service that fails on purpose."""

import io
import json
import os
import re
import subprocess
import time
import uuid
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.failing_proxy import Trouble, failing_front
from tests.contract.transports import Headers, Reply, SocketWire
from tests.documents import block
from tests.service import TLS, Service, free_port

pytestmark = pytest.mark.once

PYTHON = block("api.md", "retry-python")
SHELL = block("api.md", "retry-shell")

# The least and the most between one attempt and the next, in seconds.
PAUSES = [(0.25, 0.35), (0.5, 0.6), (1.0, 1.1), (2.0, 2.1)]


def answer(status: int, message: str = "On purpose.", **headers: str) -> Reply:
    """A failure as the service tells it; `retry_after` is the header Retry-After."""
    body = {"error": {"code": "on_purpose", "message": message}}
    return Reply(
        status, [(name.replace("_", "-"), value) for name, value in headers.items()], json.dumps(body).encode()
    )


class Pets:
    """Does what the service does with pets: one for each idempotency key, and one for each POST without."""

    def __init__(self) -> None:
        self.by_key: dict[str, dict[str, str]] = {}

    def __call__(self, method: str, target: str, headers: Headers, body: bytes) -> Reply:
        if method == "GET":
            return Reply(200, [], json.dumps(list(self.by_key.values())).encode())
        key = dict(headers).get("Idempotency-Key") or str(uuid.uuid4())
        pet = self.by_key.setdefault(key, {"id": str(uuid.uuid4()), **json.loads(body)})
        return Reply(201, [], json.dumps(pet).encode())


def client(url: str, key: str = "pets_test_key") -> httpx.Client:
    return httpx.Client(base_url=f"{url}/v1", headers={"X-API-Key": key}, timeout=30, trust_env=False, verify=TLS)


def assert_pauses(waits: list[float]) -> None:
    for wait, (least, most) in zip(waits, PAUSES, strict=True):
        assert least <= wait <= most


@dataclass(frozen=True)
class Run:
    """What came of a program that was run."""

    succeeded: bool
    output: str
    errors: str
    waits: list[float]


@dataclass(frozen=True)
class Program:
    """A program of api.md. It asks to wait as it does anywhere, and need not."""

    source: str
    execute: Callable[[str, dict[str, str]], Run]

    def run(self, url: str, key: str = "pets_test_key") -> Run:
        # A proxy that the machine is set up for has no part in this.
        return self.execute(self.source, {"PETS_URL": f"{url}/v1", "PETS_API_KEY": key, "no_proxy": "*"})

    def impatient(self) -> "Program":
        """The same, but for what takes longer than a second."""
        source, changes = re.subn(r"(timeout=|--max-time )10\b", r"\g<1>1", self.source)
        assert changes == 1
        return replace(self, source=source)


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch) -> Program:
    def execute(source: str, environment: dict[str, str]) -> Run:
        output, errors, waits = io.StringIO(), "", list[float]()
        with monkeypatch.context() as patch, redirect_stdout(output):
            patch.setattr(time, "sleep", waits.append)
            for name, value in environment.items():
                patch.setenv(name, value)
            try:
                exec(source, {"__name__": "__main__"})
            except httpx.HTTPError as error:
                errors = f"{type(error).__name__}: {error}"
        return Run(not errors, output.getvalue(), errors, waits)

    return Program(PYTHON, execute)


@pytest.fixture
def shells(tmp_path: Path) -> dict[str, Program]:
    """By the shell's name."""
    waits, sleep = tmp_path / "waits", tmp_path / "bin" / "sleep"
    sleep.parent.mkdir()
    sleep.write_text(f"#!/bin/sh\necho \"$*\" >> '{waits}'\n")
    sleep.chmod(0o755)

    def execute(shell: str, source: str, environment: dict[str, str]) -> Run:
        waits.write_text("")
        environment = os.environ | environment | {"PATH": f"{sleep.parent}:{os.environ['PATH']}"}
        # As strict as any script that it may be pasted into.
        done = subprocess.run([shell, "-eu", "-c", source], env=environment, capture_output=True, text=True)
        return Run(done.returncode == 0, done.stdout, done.stderr, [float(wait) for wait in waits.read_text().split()])

    return {shell: Program(SHELL, partial(execute, shell)) for shell in ("sh", "bash")}


@pytest.fixture(params=["python", "sh", "bash"])
def program(request: pytest.FixtureRequest, python: Program, shells: dict[str, Program]) -> Program:
    return ({"python": python} | shells)[request.param]


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the Python program defines, without running it; nothing waits."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    names: dict[str, Any] = {"__name__": "pets"}
    exec(PYTHON, names)
    return names


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [answer(500), answer(503), Trouble.DROPPED, Trouble.LOST],
        [Trouble.LOST, answer(409, retry_after="1"), answer(502), answer(504)],
        [answer(429, retry_after="17"), answer(429, retry_after="1")],
        [Trouble.CUT_SHORT],
        [Trouble.LOST, Trouble.CUT_SHORT, Trouble.LOST, Trouble.CUT_SHORT],
    ],
)
def test_one_pet_is_created_whatever_fails_before(program: Program, steps: list[Trouble | Reply]) -> None:
    pets = Pets()
    with failing_front(pets, steps) as front:
        run = program.run(front.url)

    (pet,) = pets.by_key.values()
    assert (pet["name"], pet["tag"]) == ("Rex", "dog")
    assert run.succeeded, run.errors
    assert pet["id"] in run.output
    assert len(front.posts) == len(steps) + 1


def test_answer_that_takes_too_long_is_given_up(program: Program) -> None:
    pets = Pets()
    with failing_front(pets, [Trouble.LATE]) as front:
        run = program.impatient().run(front.url)

    assert run.succeeded, run.errors
    assert len(front.posts) > 1
    assert len(pets.by_key) == 1


def test_every_attempt_sends_the_same_request(program: Program) -> None:
    with failing_front(Pets(), [Trouble.DROPPED, answer(500), Trouble.LOST, answer(409)]) as front:
        program.run(front.url, key="pets_test_secret")

    first, *others = front.posts
    assert len(others) == 4
    assert first.header("Idempotency-Key")
    assert first.header("X-API-Key") == "pets_test_secret"
    assert json.loads(first.body) == {"name": "Rex", "tag": "dog"}
    assert all(other == first for other in others)


def test_each_pet_has_an_idempotency_key_of_its_own(program: Program) -> None:
    pets = Pets()
    with failing_front(pets) as front:
        program.run(front.url)
        program.run(front.url)

    assert len(pets.by_key) == 2


def test_gives_up_after_five_attempts_and_says_what_the_service_said(program: Program) -> None:
    with failing_front(Pets(), [answer(500, f"Attempt {number}.") for number in range(1, 7)]) as front:
        run = program.run(front.url)

    assert not run.succeeded
    assert len(front.posts) == 5
    assert "Attempt 5." in run.output + run.errors


def test_gives_up_after_five_attempts_without_an_answer(program: Program) -> None:
    run = program.run(f"http://127.0.0.1:{free_port()}")

    assert not run.succeeded
    assert run.errors
    assert len(run.waits) == 4


def test_waits_double_and_differ_by_chance(program: Program) -> None:
    with failing_front(Pets(), [answer(500), Trouble.DROPPED, answer(503), Trouble.LOST, answer(500)]) as front:
        run = program.run(front.url)

    assert_pauses(run.waits)
    assert len({round(wait - least, 3) for wait, (least, _) in zip(run.waits, PAUSES, strict=True)}) > 1


@pytest.mark.parametrize("retry_after", ["0", "Wed, 21 Oct 2099 07:28:00 GMT", "-5", "soon", ""])
def test_waits_no_less_than_its_own_pauses(program: Program, retry_after: str) -> None:
    with failing_front(Pets(), [answer(503, retry_after=retry_after)] * 5) as front:
        run = program.run(front.url)

    assert_pauses(run.waits)


def test_waits_longer_when_the_service_asks_for_it(program: Program) -> None:
    steps = [answer(409, retry_after="1"), answer(429, retry_after="30"), answer(503, retry_after="1")]
    with failing_front(Pets(), steps) as front:
        run = program.run(front.url)

    assert run.waits[:2] == [1, 30]
    assert 1 <= run.waits[2] <= 1.1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_refusal_is_not_repeated(program: Program, status: int) -> None:
    with failing_front(Pets(), [answer(status, "Change the name.", retry_after="1")]) as front:
        run = program.run(front.url)

    assert not run.succeeded
    assert len(front.posts) == 1
    assert run.waits == []
    assert "Change the name." in run.output + run.errors


def test_shell_prints_the_pet_and_nothing_else(shells: dict[str, Program]) -> None:
    pets = Pets()
    with failing_front(pets, [answer(500)]) as front:
        run = shells["sh"].run(front.url)

    assert [json.loads(run.output)] == list(pets.by_key.values())
    assert run.errors == ""


@pytest.mark.parametrize("step", [answer(500), answer(503, retry_after="1"), Trouble.DROPPED, Trouble.LOST])
def test_post_without_an_idempotency_key_is_sent_once(functions: dict[str, Any], step: Trouble | Reply) -> None:
    pets = Pets()
    with failing_front(pets, [step]) as front, client(front.url) as http, pytest.raises(httpx.HTTPError):
        functions["call"](http, "POST", "/pets", json={"name": "Rex"})

    assert len(front.posts) == 1
    assert len(pets.by_key) == (1 if step is Trouble.LOST else 0)


def test_reading_is_repeated_and_needs_no_idempotency_key(functions: dict[str, Any]) -> None:
    steps: list[Trouble | Reply] = [answer(500), answer(503), Trouble.DROPPED, Trouble.CUT_SHORT]
    with failing_front(Pets(), steps) as front, client(front.url) as http:
        response = functions["call"](http, "GET", "/pets")

    assert response.json() == []
    assert [request.header("Idempotency-Key") for request in front.requests] == [None] * 5


@pytest.mark.parametrize("steps", [[Trouble.LOST], [Trouble.LOST, Trouble.CUT_SHORT], [Trouble.LOST] * 4])
def test_service_has_one_pet_when_its_answers_are_lost(
    program: Program, steps: list[Trouble], service: Service, service_key: str
) -> None:
    with service.client(service_key) as direct, failing_front(SocketWire({}, service.url).send, steps) as front:
        before = direct.get("/v1/store/inventory").json()
        run = program.run(front.url, service_key)
        after = direct.get("/v1/store/inventory").json()
        (received,) = (reply for reply in front.answers if reply.status == 201)
        kept = direct.get(f"/v1/pets/{received.json()['id']}").json()

    assert run.succeeded, run.errors
    assert len(front.posts) == len(steps) + 1
    assert received.header("Idempotency-Replayed") == "true"
    assert after == before | {"available": before["available"] + 1}
    assert kept == received.json()
    assert kept["id"] in run.output


def test_message_of_the_service_is_printed(program: Program, service: Service) -> None:
    run = program.run(service.url, "pets_test_guess")

    assert not run.succeeded
    assert run.waits == []
    assert '"code":"unauthorized"' in run.output + run.errors


def test_every_pet_is_listed_once_though_pages_fail(
    functions: dict[str, Any], service: Service, service_key: str
) -> None:
    steps: list[Trouble | Reply | None] = [answer(500), None, Trouble.DROPPED, Trouble.CUT_SHORT]
    with service.client(service_key) as direct, failing_front(SocketWire({}, service.url).send, steps) as front:
        for name in ("Tom", "Polly", "Mimi"):
            direct.post("/v1/pets", json={"name": name})
        with client(front.url, service_key) as http:
            listed = list(functions["list_pets"](http, limit=2))
        pets = direct.get("/v1/pets?limit=1000").json()

    assert listed == pets
    assert len(front.requests) == len(steps) - 1 + (len(pets) + 1) // 2
