"""Generate load with wrk, and measure its cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import httpx

from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.wrk import Wrk

# The scenarios in their order. Those that add pets come last, because a peer's inventory counts all pets.
PATHS = {
    "fetch-one-pet": "/v1/pets",
    "list-100-pets": "/v1/pets?limit=100",
    "inventory": "/v1/store/inventory",
    "post": "/v1/pets",
    "post-key": "/v1/pets",
    "post-replay": "/v1/pets",
}
IDEMPOTENT = ("post-key", "post-replay")
# Maximum number of different pets that `fetch-one-pet` fetches.
_MAX_IDS = 1000
SCRIPT = Path(__file__).with_suffix(".lua").read_text()


class Measurement(NamedTuple):
    """One run: number of requests, rate per second, p99 in milliseconds, and CPU in milliseconds per request."""

    number: int
    rate: float
    p99: float
    cpu: float
    database_cpu: float

    @property
    def total_cpu(self) -> float:
        """Return the CPU time of the server and of its database server."""
        return self.cpu + self.database_cpu


class Target(NamedTuple):
    """A running server, its database server if it has one, and an API key."""

    base_url: str
    pid: int
    database_pid: int | None
    key: str


def measure(
    target: Target, scenario: str, ids: Sequence[str], seconds: int, connections: int, folder: Path
) -> Measurement:
    """Let wrk send requests over `connections` connections without pauses. The ids are those of pets to fetch."""
    file = folder / "ids"
    file.write_text("".join(f"{pet_id}\n" for pet_id in ids[:: len(ids) // _MAX_IDS + 1]))
    url, headers, arguments = target.base_url + PATHS[scenario], [f"X-API-Key: {target.key}"], (scenario, file, uuid4())
    before, database_before = cpu_seconds(target.pid), cpu_seconds(target.database_pid)
    wrk = Wrk(url, headers, SCRIPT, *map(str, arguments), folder=folder, connections=connections, seconds=seconds)
    seen = wrk.responses()
    assert seen.number, "no requests"
    assert not seen.failed, f"{seen.failed} of {seen.number} requests failed"  # a fast error is no result
    return Measurement(
        number=seen.number,
        rate=seen.rate,
        p99=seen.p99,
        cpu=(cpu_seconds(target.pid) - before) / seen.number * 1000,
        database_cpu=(cpu_seconds(target.database_pid) - database_before) / seen.number * 1000,
    )


def create_replayed_pet(target: Target) -> None:
    """Create the pet that the responses of the scenario `post-replay` contain."""
    headers = {"X-API-Key": target.key, "Idempotency-Key": "always-the-same"}
    body = {"name": "Rex", "tag": "dog"}
    httpx.post(target.base_url + PATHS["post-replay"], json=body, headers=headers, trust_env=False).raise_for_status()
