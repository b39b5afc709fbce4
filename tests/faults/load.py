"""Clients that create and fetch pets, and record the responses."""

import http.client
import itertools
import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from tests.service import Service
from tests.waiting import wait_until

# Seconds that a client waits for a connection or a response.
TIMEOUT = 30
# Seconds between a failure and a client's next request, so that a starting service gets enough processor time.
PAUSE_AFTER_FAILURE = 0.25


class TimedResponse(NamedTuple):
    """The result of a request, with its times on the monotonic clock."""

    began: float
    ended: float
    result: str  # the method and the status, and the error code of a failure

    @property
    def seconds(self) -> float:
        return self.ended - self.began


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
    # The number of responses by method and status, and of refused and broken connections.
    saw: Counter[str] = field(default_factory=Counter)
    # All responses in the order of their arrival.
    responses: list[TimedResponse] = field(default_factory=list, repr=False)
    missing: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _is_awaited: bool = False
    _is_over: bool = False

    def client(self, *, retries: bool, keeps: bool) -> None:
        """Create pets until the load ends, on one connection if `keeps`, otherwise on a new one for each pet."""
        connection = self._connection()
        try:
            while not self._is_over:
                name = f"pet {next(self._numbers)}"
                self._create(connection, name, str(uuid.uuid4()) if retries else None)
                if self.reads and name in self.created:
                    self._fetch(connection, self.created[name], name)
                if not keeps:
                    connection.close()
                if not self._is_awaited:
                    time.sleep(self.pause)
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        address = urlsplit(self.service.url)
        if address.scheme == "https":
            return http.client.HTTPSConnection(address.netloc, timeout=TIMEOUT, context=self.service.tls)
        return http.client.HTTPConnection(address.netloc, timeout=TIMEOUT)

    def _create(self, connection: http.client.HTTPConnection, name: str, idempotency_key: str | None) -> None:
        headers = {"Content-Type": "application/json"}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        while True:
            status, content = self._call(connection, "POST", "/v1/pets", headers, json.dumps({"name": name}))
            if status == 201:
                assert content["name"] == name
                self.created[name] = content["id"]
            # A client that retries continues until it gets 201, even after the end of the load.
            if status == 201 or not idempotency_key:
                return

    def _fetch(self, connection: http.client.HTTPConnection, pet: str, name: str) -> None:
        status, content = self._call(connection, "GET", f"/v1/pets/{pet}", {}, None)
        if status == 404 or (status == 200 and content["name"] != name):
            self.missing.append(pet)

    def _call(
        self, connection: http.client.HTTPConnection, method: str, path: str, headers: dict[str, str], body: str | None
    ) -> tuple[int | None, Any]:
        began = time.monotonic()
        try:
            connection.request(method, path, body, {"X-API-Key": self.key, **headers})
            response = connection.getresponse()
            content = _parsed(response)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self.saw["refused" if isinstance(error, ConnectionRefusedError) else "broken"] += 1
            time.sleep(PAUSE_AFTER_FAILURE)
            return None, None
        self.saw[f"{method} {response.status}"] += 1
        result = f"{method} {response.status}"
        if response.status >= 400:
            result += f" {content['error']['code'] if content else 'no JSON'}"
        self.responses.append(TimedResponse(began, time.monotonic(), result))
        if response.status >= 500:
            time.sleep(PAUSE_AFTER_FAILURE)
        return response.status, content

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

    def within(self, began: float, ended: float) -> list[TimedResponse]:
        """Return the responses to requests that began and ended in this time."""
        return [response for response in self.responses if began <= response.began and response.ended <= ended]

    def slowest_failure(self) -> float:
        """Return the seconds that the slowest response with a status of 500 or above took."""
        failures = [response for response in self.responses if response.result.split()[1] >= "500"]
        return max((failure.seconds for failure in failures), default=0.0)


def _parsed(response: http.client.HTTPResponse) -> Any:
    """Return the body, or None if it is not JSON, as in a load balancer's own responses."""
    body = response.read()
    return json.loads(body) if response.headers.get_content_type() == "application/json" else None


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
            thread.join(timeout=2 * TIMEOUT)
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


def lost(load: Load, client: httpx.Client) -> list[str]:
    """Return the ids of pets that got 201 and do not exist now, or did not when their client fetched them.

    Fail if two pets have a name, so that a retry has created a second one, or if the inventory is wrong.
    """
    pets = all_pets(client)
    assert [name for name, ids in pets.items() if len(ids) > 1] == []
    assert client.get("/v1/store/inventory").json() == {"available": len(pets), "pending": 0, "sold": 0}
    return load.missing + [pet for name, pet in load.created.items() if pets.get(name) != [pet]]
