"""Every generated raw request gets a response below 500, and the memory of the worker does not grow.

`FUZZ_REQUESTS=100000 python -m pytest -m long tests/server/test_fuzz.py` sends 100,000 requests, which takes about a
quarter of an hour.
"""

import os
import re
import socket

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings

from pets.models import Pet
from tests.benchmarks.processes import memory
from tests.server import generated
from tests.server.connections import Client as Connection
from tests.server.services import booted_workers
from tests.server.test_smuggling import STATUS
from tests.service import Service

pytestmark = pytest.mark.once

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", 500))
# Number of requests between two logins. Some requests log out, which ends the session of the following ones.
BATCH = 100
# Maximum difference in MiB between two measurements of a worker's memory.
NOISE = 16
# Seconds without a response after which a request counts as incomplete, and the bytes that complete it.
RESPONSE_TIMEOUT = 0.3
COMPLETION = b"\r\n" * 1000


def staff_headers(service: Service) -> bytes:
    """Log in, and return the header lines of the session."""
    client = Client()
    with service.models():
        Pet.objects.update_or_create(pk=generated.PET_ID.decode(), name="Rex")
        user, _ = User.objects.get_or_create(username="ada", is_staff=True, is_superuser=True)
        client.force_login(user)
    session, token = client.cookies["sessionid"].value, "x" * 32
    return f"Cookie: sessionid={session}; csrftoken={token}\r\nX-CSRFToken: {token}".encode()


def statuses(service: Service, request: bytes) -> list[int]:
    """Send a request, and return the statuses of all responses on its connection."""
    received = b""
    with Connection(service) as client:
        client.send(request)
        if client.is_waiting(RESPONSE_TIMEOUT):
            client.send(COMPLETION)
        while all(status < b"200" for status in STATUS.findall(received)) and (part := client.socket.recv(65536)):
            received += part  # until a final response has begun
        client.socket.shutdown(socket.SHUT_WR)  # ends a connection that the service keeps open
        received += b"".join(iter(lambda: client.socket.recv(65536), b""))
    return [int(status) for status in STATUS.findall(received)]


def send_generated_requests(service: Service, credentials: list[bytes], number: int) -> None:
    @settings(
        max_examples=number, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
    )
    @given(request=generated.requests(credentials))
    def send(request: bytes) -> None:
        sent = statuses(service, request)

        assert any(status >= 200 for status in sent), (request, sent)
        assert all(100 <= status < 500 for status in sent), (request, sent)

    send()


@pytest.mark.long
def test_every_generated_request_gets_a_response_below_500(one_worker: Service) -> None:
    service, worker = one_worker, booted_workers(one_worker)
    key = f"X-API-Key: {service.create_key()}".encode()
    batches = REQUESTS // BATCH
    for number in range(batches):
        staff = staff_headers(service)
        send_generated_requests(service, [b"X-API-Key: ", key, staff, staff], BATCH)
        if number == batches // 3:
            before = memory(*worker)

    assert booted_workers(service) == worker
    assert memory(*worker) - before < NOISE
    # Django logs a rejected request as an error, too.
    assert not re.findall(r".*\bERROR\b(?! django\.security).*", service.log.read_text())
