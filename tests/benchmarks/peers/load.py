"""Generate load with wrk, and measure its cost."""

from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import httpx

from tests.benchmarks.databases import Database, connected
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
_FETCHED = "SELECT CAST(id AS text) FROM pets_pet ORDER BY random() LIMIT 1000"
SCRIPT = Path(__file__).with_suffix(".lua").read_text()


class Measurement(NamedTuple):
    """One run: number of requests, rate per second, p99 in milliseconds, and CPU in milliseconds per request."""

    number: int
    rate: float
    p99: float
    cpu: float
    database_cpu: float


class Target(NamedTuple):
    """A running server, its database, and an API key."""

    base_url: str
    pid: int
    database: Database
    key: str

    @property
    def ids(self) -> Path:
        """Return the file with the ids of the pets that `fetch-one-pet` fetches, which must be written before."""
        return self.database.folder / "ids"

    def write_ids(self) -> None:
        """Write the ids of the pets to fetch, which are random ones of the database."""
        with connected(self.database) as connection:
            found = connection.execute(_FETCHED).fetchall()
        self.ids.write_text("".join(f"{pet_id}\n" for (pet_id,) in found))


def measure(target: Target, scenario: str, seconds: int, connections: int) -> Measurement:
    """Let wrk send requests over `connections` connections without pauses."""
    url, headers = target.base_url + PATHS[scenario], [f"X-API-Key: {target.key}"]
    arguments = map(str, (scenario, target.ids, uuid4()))
    folder, server = target.database.folder, target.database.server
    before, database_before = cpu_seconds(target.pid), cpu_seconds(server)
    wrk = Wrk(url, headers, SCRIPT, *arguments, folder=folder, connections=connections, seconds=seconds)
    seen = wrk.responses()
    assert seen.number, "no requests"
    assert not seen.failed, f"{seen.failed} of {seen.number} requests failed"  # a fast error is no result
    return Measurement(
        number=seen.number,
        rate=seen.number / seen.seconds,
        p99=seen.p99,
        cpu=(cpu_seconds(target.pid) - before) / seen.number * 1000,
        database_cpu=(cpu_seconds(server) - database_before) / seen.number * 1000,
    )


def create_replayed_pet(target: Target) -> None:
    """Create the pet that the responses of the scenario `post-replay` contain."""
    headers = {"X-API-Key": target.key, "Idempotency-Key": "always-the-same"}
    body = {"name": "Rex", "tag": "dog"}
    httpx.post(target.base_url + PATHS["post-replay"], json=body, headers=headers, trust_env=False).raise_for_status()
