"""No client can take the memory or the connections that others need, nor keep a new one waiting."""

import re
import socket
import statistics
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pets.models import Pet
from petservice.server.limits import MAX_CONNECTIONS_OF_ADDRESS
from petservice.server.messages import ReceivedRequest, encoded
from petservice.wsgi import application
from tests.redis_server import RedisServer
from tests.server.busy import Busy, busy_connections
from tests.server.connections import Client, Connect, get, response_to, scope_of
from tests.server.services import open_connections, service_with_test_endpoints
from tests.service import Service, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


def test_long_cookies_and_escapes_in_cookies_are_not_read() -> None:
    sent = 'a=1; b="' + '\\"' * 20 + '"; ' + "; ".join(f"n{number}=1" for number in range(4_000))

    with closing(ReceivedRequest(scope_of(get("/v1/pets", b"Cookie: " + sent.encode())))) as request:
        cookies = request.COOKIES

    assert (cookies["a"], cookies["b"]) == ("1", '"' * 20)
    assert "n1000" in cookies
    assert "n3999" not in cookies


def test_parameters_of_a_long_content_type_are_not_read() -> None:
    """Python takes quadratic time for them."""
    sent = b"Content-Type: Multipart/Form-Data ; boundary=" + b'";' * 150

    with closing(ReceivedRequest(scope_of(get("/admin/login/", sent)))) as request:
        assert (request.content_type, request.content_params) == ("multipart/form-data", {})
        assert request.META["CONTENT_TYPE"] == "Multipart/Form-Data "  # which others read


@pytest.mark.django_db  # whose connection the end of a response checks
def test_all_responses_with_a_file_share_its_bytes() -> None:
    """Otherwise clients that read nothing could fill the memory."""
    bodies = []
    for headers in ([], [b"Range: bytes=1-"]):
        request = ReceivedRequest(scope_of(get("/static/backoffice/admin.css", *headers)))
        with closing(request), closing(application.get_response(request)) as response:
            bodies.append(encoded(response)[2])

    assert bodies[0] is bodies[1]


def test_connections_of_an_address_are_limited(tmp_path: Path, migrated_url: str, connect: Connect) -> None:
    variables = {"DATABASE_URL": migrated_url, "FORWARDED_ALLOW_IPS": "192.0.2.1"}
    with service_with_test_endpoints(tmp_path, "--bind", "[::]:0", **variables) as service:
        (port_of_both,) = re.findall(r"http://\[::\]:(\d+)", service.log.read_text())
        on_both = replace(service, url=f"http://127.0.0.1:{port_of_both}")  # where an IPv4 peer is ::ffff:127.0.0.1
        half = MAX_CONNECTIONS_OF_ADDRESS // 2
        held = [connect(on_both) for _ in range(half)]
        held += [connect(service) for _ in range(MAX_CONNECTIONS_OF_ADDRESS - half)]
        wait_until(lambda: open_connections(held[0]) == MAX_CONNECTIONS_OF_ADDRESS)
        rejected = connect(service)
        rejected.socket.settimeout(5)  # less than the timeout of a silent connection
        assert rejected.is_closed()

        other = connect(service)
        other.socket.close()
        port = int(service.url.rpartition(":")[2])
        other.socket = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=("127.0.0.2", 0))
        assert other.response_to(get("/v1/health")).status == 200

        held.pop().socket.close()
        other.response_to(get("/v1/health"))
        again = connect(service)
        assert again.response_to(get("/v1/health")).status == 200


def pets_of(key: str) -> bytes:
    return get("/v1/pets?limit=1", f"X-API-Key: {key}".encode())


def responses_before_new_connections(service: Service, busy: Busy, *requests: bytes) -> list[int]:
    """Send each request three times, on new connections, and return how many responses the busy ones got before it."""
    found = []
    for request in requests * 3:
        before = busy.responses
        assert response_to(service, request).status == 200
        found.append(busy.responses - before)
    return found


def test_new_client_does_not_wait_for_busy_connections_of_another_key(one_worker: Service) -> None:
    number = 450
    one, another = pets_of(one_worker.create_key()), pets_of(one_worker.create_key())
    with busy_connections(one_worker, [one] * number) as busy:
        found = responses_before_new_connections(one_worker, busy, another, get("/v1/health"))

    assert statistics.median(found) < 10 * number, f"{found} responses to {number} busy connections"


def test_dear_requests_of_a_key_delay_no_other_client(one_worker: Service) -> None:
    """They are allowed, and each takes a hundred times as long as a usual request."""
    key, other = f"X-API-Key: {one_worker.create_key()}".encode(), pets_of(one_worker.create_key())
    with one_worker.models():
        Pet.objects.bulk_create(Pet(name="é" * 255, tag="é" * 255) for _ in range(1000))
    dear = [
        get("/v1/pets?limit=1000", key, method="HEAD"),
        get("/v1/pets/" + "%FF" * 2700, key),
        get("/v1/pets?limit=1" + "&x=1" * 990, key),
    ]
    with busy_connections(one_worker, dear * 21, statuses=(200, 404)) as busy:
        found = responses_before_new_connections(one_worker, busy, other, get("/v1/health"))

    assert max(found) < len(dear) * 21, f"{found}: all dear connections came first"


@pytest.mark.redis
def test_refusals_of_a_key_over_its_limit_delay_others_little(
    tmp_path: Path, migrated_url: str, redis_server: RedisServer
) -> None:
    """If refusals were as dear as responses, another key would wait for one to each busy connection."""
    number, found = 450, []
    variables = {"DATABASE_URL": migrated_url, "REDIS_URL": redis_server.url, "WEB_CONCURRENCY": "1"}
    with running_service(tmp_path, **variables) as service:
        limited = pets_of(service.create_key())
        service.execute("UPDATE apikeys_apikey SET requests_per_minute = 1")
        other = pets_of(service.create_key())
        with busy_connections(service, [limited] * number, statuses=(200, 429)) as busy, Client(service) as client:
            for _ in range(20):
                before = busy.responses
                assert client.response_to(other).status == 200
                found.append(busy.responses - before)

    assert statistics.median(found) < number / 2, f"{found} responses before those to another key"
