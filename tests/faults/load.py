"""Clients that create and fetch pets without pause, and keep account of what they were answered."""

import http.client
import itertools
import json
import ssl
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

from tests.waiting import wait_until

# Seconds that a client waits for anything.
PATIENCE = 30
# Seconds until a client comes again after it has been failed: a machine that starts must get its turn.
PAUSE = 0.25


class Answer(NamedTuple):
    """What a request was answered, and when, on the monotonic clock."""

    began: float
    ended: float
    what: str  # method and status, and of a failure the code

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass
class Storm:
    """The clients' accounts: each pet that was answered 201, and each answer and failure."""

    url: str
    key: str
    # Fetch each pet that was created, too.
    reads: bool = False
    context: ssl.SSLContext | None = None
    # The ids of the pets that were answered 201, by their names, which are unique.
    created: dict[str, str] = field(default_factory=dict)
    # Names that were sent with an Idempotency-Key, again and again until they were answered.
    insistent: set[str] = field(default_factory=set)
    # How often a request had which status, or its connection was refused or broken.
    saw: Counter[str] = field(default_factory=Counter)
    # Each answer, as they came.
    answers: list[Answer] = field(default_factory=list, repr=False)
    missing: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _is_over: bool = False

    def client(self, *, insists: bool, keeps: bool) -> None:
        """Create pets on a connection that is kept, or on a new one each, until the storm is over."""
        connection = self._connection()
        try:
            while not self._is_over:
                name = f"pet {next(self._numbers)}"
                if insists:
                    self.insistent.add(name)
                self._create(connection, name, str(uuid.uuid4()) if insists else None)
                if self.reads and name in self.created:
                    self._fetch(connection, self.created[name], name)
                if not keeps:
                    connection.close()
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        if self.context:
            return http.client.HTTPSConnection(address.netloc, timeout=PATIENCE, context=self.context)
        return http.client.HTTPConnection(address.netloc, timeout=PATIENCE)

    def _create(self, connection: http.client.HTTPConnection, name: str, idempotency_key: str | None) -> None:
        headers = {"Content-Type": "application/json"}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        while True:
            status, answer = self._call(connection, "POST", "/v1/pets", headers, json.dumps({"name": name}))
            if status == 201:
                assert answer["name"] == name
                self.created[name] = answer["id"]
            # Whoever insists is answered, even when the storm is over.
            if status == 201 or not idempotency_key:
                return

    def _fetch(self, connection: http.client.HTTPConnection, pet: str, name: str) -> None:
        status, answer = self._call(connection, "GET", f"/v1/pets/{pet}", {}, None)
        if status == 404 or (status == 200 and answer["name"] != name):
            self.missing.append(pet)

    def _call(
        self, connection: http.client.HTTPConnection, method: str, path: str, headers: dict[str, str], body: str | None
    ) -> tuple[int | None, Any]:
        began = time.monotonic()
        try:
            connection.request(method, path, body, {"X-API-Key": self.key, **headers})
            response = connection.getresponse()
            answer = _parsed(response)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self.saw["refused" if isinstance(error, ConnectionRefusedError) else "broken"] += 1
            time.sleep(PAUSE)
            return None, None
        self.saw[f"{method} {response.status}"] += 1
        what = f"{method} {response.status}"
        if response.status >= 400:
            what += f" {answer['error']['code'] if answer else 'no JSON'}"
        self.answers.append(Answer(began, time.monotonic(), what))
        if response.status >= 500:
            time.sleep(PAUSE)
        return response.status, answer

    def wait_for(self, more: int) -> None:
        """Wait until `more` further pets have been answered 201."""
        enough = len(self.created) + more
        wait_until(lambda: len(self.created) >= enough, seconds=60)

    def within(self, began: float, ended: float) -> list[Answer]:
        """The answers to requests that began and ended in this time."""
        return [answer for answer in self.answers if began <= answer.began and answer.ended <= ended]

    def slowest_failure(self) -> float:
        """Seconds of the slowest answer with a status of 500 or above."""
        return max((answer.seconds for answer in self.answers if answer.what.split()[1] >= "500"), default=0.0)

    def summary(self) -> str:
        """How often which answer was seen."""
        return ", ".join(f"{number} {answer}" for answer, number in sorted(self.saw.items()))


def _parsed(response: http.client.HTTPResponse) -> Any:
    """The answer, or None where it is no JSON: a balancer's own words."""
    body = response.read()
    return json.loads(body) if response.headers.get_content_type() == "application/json" else None


@contextmanager
def storm(storm: Storm, clients: int, *, insistent: int = 0, keeping: int | None = None) -> Iterator[Storm]:
    """Let `clients` loose, of whom so many are insistent and so many keep their connections; wait for their last."""
    keeping = clients if keeping is None else keeping
    threads = [
        threading.Thread(
            target=storm.client, kwargs={"insists": number < insistent, "keeps": number < keeping}, daemon=True
        )
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    try:
        yield storm
    finally:
        storm._is_over = True
        for thread in threads:
            thread.join(timeout=2 * PATIENCE)
    if any(thread.is_alive() for thread in threads):
        pytest.fail("a client still waits for its answer")


def all_pets(client: httpx.Client) -> dict[str, list[str]]:
    """The ids of all pets there are, by name."""
    pets: dict[str, list[str]] = {}
    page = "/v1/pets?limit=1000"
    while page:
        response = client.get(page).raise_for_status()
        for pet in response.json():
            pets.setdefault(pet["name"], []).append(pet["id"])
        page = response.links.get("next", {}).get("url", "")
    return pets


def lost(storm: Storm, pets: dict[str, list[str]]) -> list[str]:
    """The names of pets that were answered 201 and are not there."""
    return [name for name, pet in storm.created.items() if pet not in pets.get(name, [])]
