"""Requests to a service whose database is unavailable."""

import random
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.service import Service

# The results that clients may see in any state of the database.
OUTCOMES = {"GET 200", "POST 201", "GET 500 internal_error", "POST 500 internal_error"}
# Maximum seconds of an immediate response, with one second of margin for a busy machine.
IMMEDIATE = 2
# Seconds for which the server is stopped, longer than a result of /ready is used.
OUTAGE = 2
# Maximum seconds of a request: for a free connection, for the database, and for a busy machine.
MAX_WAIT = 5 + 5 + 3
# For tests whose requests must reach every worker. With two, a busy machine could let one worker accept nearly all
# connections, because a worker waits only briefly for another that has fewer.
ONE_WORKER = {"WEB_CONCURRENCY": "1"}


def first_requests(service: Service, key: str) -> list[httpx.Response]:
    """Send eight requests of each kind, all at the same time, and return the responses."""
    with service.client(key) as client, ThreadPoolExecutor(6 * 8) as pool:
        requests = []
        for _ in range(8):
            first, other = ({"name": f"first {uuid.uuid4()}"} for _ in range(2))
            once = {"Idempotency-Key": str(uuid.uuid4())}
            requests += [
                client.build_request("GET", "/v1/pets?limit=1"),
                client.build_request("POST", "/v1/pets", json=first),
                client.build_request("POST", "/v1/pets", json=other, headers=once),
                client.build_request("GET", "/v1/store/inventory"),
                client.build_request("GET", "/ready"),
                # A page, which reads the session.
                client.build_request("GET", "/admin/login/", headers={"Cookie": f"sessionid={'x' * 32}"}),
            ]
        # Connections go to the workers in turn, so in a regular order one worker could get all requests of a kind.
        random.shuffle(requests)
        return list(pool.map(client.send, requests))


def failures(responses: Sequence[httpx.Response]) -> list[str]:
    """Return a description of each response that is not a success."""
    return [
        f"{response.request.method} {response.request.url.path}: {response.status_code} {response.text[:200]}"
        for response in responses
        if response.status_code not in (200, 201)
    ]


def slowest(responses: Sequence[httpx.Response]) -> float:
    """Return the seconds that the slowest response took."""
    return max(response.elapsed.total_seconds() for response in responses)


def created(responses: list[httpx.Response]) -> dict[str, str]:
    """Return the ids of the pets whose creation got 201, by their names."""
    pets = [response.json() for response in responses if response.status_code == 201]
    return {pet["name"]: pet["id"] for pet in pets}
