"""A run of one of the retrying programs of the API guide, and an API that fails as often as a test wants."""

import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

import httpx

from tests.contract.transports import Headers, Reply
from tests.service import TLS

# The minimum and the maximum pause before each retry, in seconds.
PAUSES = [(0.25, 0.35), (0.5, 0.6), (1.0, 1.1), (2.0, 2.1)]


def failure(status: int, message: str = "On purpose.", **headers: str) -> Reply:
    """Return an error response of the service; `retry_after` becomes the header Retry-After."""
    body = {"error": {"code": "on_purpose", "message": message}}
    return Reply(
        status, [(name.replace("_", "-"), value) for name, value in headers.items()], json.dumps(body).encode()
    )


class Pets:
    """A fake service that creates one pet for each idempotency key, and one for each POST without a key."""

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


def assert_pauses(waits: list[float], pauses: list[tuple[float, float]]) -> None:
    for wait, (minimum, maximum) in zip(waits, pauses, strict=True):
        assert minimum <= wait <= maximum


@dataclass(frozen=True)
class Run:
    """The result of a program."""

    succeeded: bool
    output: str
    errors: str
    waits: list[float]


@dataclass(frozen=True)
class Program:
    """A program of api.md whose pauses are recorded and skipped."""

    source: str
    execute: Callable[[str, dict[str, str]], Run]

    def run(self, url: str, key: str = "pets_test_key") -> Run:
        # The program must not use a proxy that this machine is configured for.
        return self.execute(self.source, {"PETS_URL": f"{url}/v1", "PETS_API_KEY": key, "no_proxy": "*"})

    def with_short_timeout(self) -> "Program":
        """Return the program with a timeout of one second."""
        source, changes = re.subn(r"(timeout=|--max-time )10\b", r"\g<1>1", self.source)
        assert changes == 1
        return replace(self, source=source)
