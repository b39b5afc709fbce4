"""Clients that create and fetch pets, and record the responses."""

import itertools
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import httpx
import pytest

from tests.service import Service
from tests.waiting import wait_until

# Seconds that clients may take to end, which is longer than a client waits for a response.
TIMEOUT = 60
# Seconds between a failure and a client's next request, so that a starting service gets enough processor time.
PAUSE_AFTER_FAILURE = 0.25


class Attempt(NamedTuple):
    """A request, with its times on the monotonic clock."""

    began: float
    ended: float
    # The method, the status and the error code of the response, or `no response`.
    result: str


@dataclass
class Load:
    """A load of requests, and a record of all created pets, responses and failures."""

    service: Service
    key: str
    # Whether the clients also fetch each pet after they have created it.
    reads: bool = False
    # Seconds between two pets of a client while no test waits for pets, because the clients would otherwise use the
    # whole processor while a test waits for something else, such as a start.
    pause: float = 0.3
    # The ids of the pets whose creation got 201, by their unique names.
    created: dict[str, str] = field(default_factory=dict)
    # All requests in the order in which they ended.
    attempts: list[Attempt] = field(default_factory=list, repr=False)
    missing: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _is_awaited: bool = False
    _is_over: bool = False

    @property
    def saw(self) -> Counter[str]:
        """Return the number of requests by their result."""
        return Counter(attempt.result for attempt in self.attempts)

    def client(self, *, retries: bool, keeps: bool) -> None:
        """Create pets until the load ends, on one connection if `keeps`, otherwise on a new one for each request."""
        with self.service.client(self.key) as client:
            client.event_hooks = {}  # a comparison with the document would take most of the processor
            if not keeps:
                client.headers["Connection"] = "close"
            while not self._is_over:
                name = f"pet {next(self._numbers)}"
                self._create(client, name, {"Idempotency-Key": str(uuid.uuid4())} if retries else {})
                if self.reads and name in self.created:
                    self._fetch(client, self.created[name], name)
                if not self._is_awaited:
                    time.sleep(self.pause)

    def _create(self, client: httpx.Client, name: str, headers: dict[str, str]) -> None:
        request = client.build_request("POST", "/v1/pets", json={"name": name}, headers=headers)
        while True:
            response = self._send(client, request)
            if response is not None and response.status_code == 201:
                assert response.json()["name"] == name
                self.created[name] = response.json()["id"]
                return
            # A client that retries continues until it gets 201, even after the end of the load.
            if not headers:
                return

    def _fetch(self, client: httpx.Client, pet: str, name: str) -> None:
        response = self._send(client, client.build_request("GET", f"/v1/pets/{pet}"))
        if response is not None and not response.is_error and response.json()["name"] != name:
            self.missing.append(pet)
        if response is not None and response.status_code == 404:
            self.missing.append(pet)

    def _send(self, client: httpx.Client, request: httpx.Request) -> httpx.Response | None:
        began, response, result = time.monotonic(), None, "no response"
        with suppress(httpx.TransportError):
            response = client.send(request)
            result = f"{request.method} {response.status_code}"
            if response.is_error:
                is_json = response.headers["Content-Type"] == "application/json"  # a load balancer's own are not
                result += f" {response.json()['error']['code'] if is_json else 'no JSON'}"
        self.attempts.append(Attempt(began, time.monotonic(), result))
        if response is None or response.is_server_error:
            time.sleep(PAUSE_AFTER_FAILURE)
        return response

    def stop(self) -> None:
        """Let the clients end after their current request."""
        self._is_over = True

    def wait_for(self, more: int) -> None:
        """Wait until clients have created `more` further pets, without pauses between them.

        So many requests are in progress when this returns, and a fault that follows at once hits them.
        """
        enough = len(self.created) + more
        self._is_awaited = True
        wait_until(lambda: len(self.created) >= enough, seconds=60)
        self._is_awaited = False

    def within(self, began: float, ended: float) -> set[str]:
        """Return the results of the requests that began and ended in this time."""
        return {one.result for one in self.attempts if began <= one.began and one.ended <= ended}

    def slowest_failure(self) -> float:
        """Return the seconds that the slowest response with a status of 500 or above took."""
        return max((one.ended - one.began for one in self.attempts if " 5" in one.result), default=0.0)


@contextmanager
def running_load(load: Load, clients: int, *, retrying: int = 0, keeping: int | None = None) -> Iterator[Load]:
    """Run so many clients until the end of the block, and wait for their last responses.

    `retrying` of them repeat a request until it succeeds, and `keeping` of them keep their connections.
    """
    keeping = clients if keeping is None else keeping
    threads = [
        threading.Thread(
            target=load.client, kwargs={"retries": number < retrying, "keeps": number < keeping}, daemon=True
        )
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.stop()
        for thread in threads:
            thread.join(TIMEOUT)
    if any(thread.is_alive() for thread in threads):
        pytest.fail("a client still waits for its response")


def all_pets(client: httpx.Client) -> dict[str, list[str]]:
    """Return the ids of all existing pets by their names."""
    pets: dict[str, list[str]] = {}
    page = "/v1/pets?limit=1000"
    while page:
        response = client.get(page).raise_for_status()
        for pet in response.json():
            pets.setdefault(pet["name"], []).append(pet["id"])
        page = response.links.get("next", {}).get("url", "")
    return pets


def lost(load: Load, service: Service | None = None) -> list[str]:
    """Return the ids of pets that got 201 and do not exist now, or did not when their client fetched them.

    They must exist in the service of the load, or in another one. Fail if two pets have a name, so that a retry has
    created a second one, or if the inventory is wrong.
    """
    with (service or load.service).client(load.key) as client:
        pets = all_pets(client)
        counts = client.get("/v1/store/inventory").json()
    assert [name for name, ids in pets.items() if len(ids) > 1] == []
    assert counts == {"available": len(pets), "pending": 0, "sold": 0}
    return load.missing + [pet for name, pet in load.created.items() if pets.get(name) != [pet]]
