"""The limits on the concurrent logins and uploads of one client."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from petservice.server.limits import (
    CONCURRENT_LOGINS,
    MAX_FORM_BYTES,
    MAX_LOGINS,
    MAX_LOGINS_OF_ADDRESS,
    MAX_UPLOADS_OF_ACCOUNT,
    REJECTION_DELAY,
)
from tests.databases import migrated_database_url
from tests.server.connections import Client, get, response_to
from tests.server.services import clear, held_requests, release, service_with_test_endpoints
from tests.service import Service, log_in
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


@pytest.fixture(scope="module")
def with_staff(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with one worker and a staff account, whose logins wait only while the file `released` is missing."""
    folder = tmp_path_factory.mktemp("staffed")
    release(folder)
    with migrated_database_url(folder) as url, service_with_test_endpoints(folder, DATABASE_URL=url) as service:
        service.create_staff("ada", "correct horse")
        yield service


def login(service: Service, address: str) -> bytes:
    """Return a login with a wrong password from a client address, as a trusted proxy sends it."""
    with service.client() as client:
        token = client.get("/admin/login/").cookies["csrftoken"]
    body = f"username=ada&password=guess&csrfmiddlewaretoken={token}".encode()
    headers = {
        "Cookie": f"csrftoken={token}",
        "X-Forwarded-For": address,
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": str(len(body)),
    }
    return get("/admin/login/", *(f"{name}: {value}".encode() for name, value in headers.items()), method="POST") + body


@pytest.mark.long
def test_logins_are_limited_for_each_address_and_in_total_and_block_no_page(with_staff: Service) -> None:
    folder: Path = with_staff.log.parent
    clear(folder)
    with ExitStack() as stack:
        stack.callback(release, folder)

        def send(address: str) -> Client:
            client = stack.enter_context(Client(with_staff))
            client.send(login(with_staff, address))
            return client

        waiting = [send("192.0.2.7") for _ in range(MAX_LOGINS_OF_ADDRESS)]
        wait_until(lambda: held_requests(folder) == CONCURRENT_LOGINS)
        began = time.monotonic()
        rejected = send("192.0.2.7").response()
        assert time.monotonic() - began > REJECTION_DELAY
        assert (rejected.status, rejected.header("Retry-After")) == (429, "5")
        assert b"Too many logins at the same time" in rejected.body
        assert "frame-ancestors" in rejected.header("Content-Security-Policy")

        waiting += [send("192.0.2.8") for _ in range(MAX_LOGINS - MAX_LOGINS_OF_ADDRESS)]
        wait_until(lambda: send("192.0.2.9").response().status == 429)
        assert held_requests(folder) == CONCURRENT_LOGINS
        release(folder)

        assert [client.response().status for client in waiting] == [200] * MAX_LOGINS
        assert send("192.0.2.9").response().status == 200


def test_next_login_waits_for_a_pause_after_a_failed_one(with_staff: Service) -> None:
    guess = login(with_staff, "192.0.2.17")  # not locked out, as the address of the test above is
    # Without a password, because hashing one may take longer than the pause of 0.75 seconds.
    incomplete = login(with_staff, "192.0.2.18").replace(b"password=guess", b"password=&a=11")
    with Client(with_staff) as one, Client(with_staff) as another:
        assert one.response_to(guess).status == 200
        responded = time.monotonic()
        assert another.response_to(incomplete).status == 200
    # The client may be late to see the first response, so the time that it sees may be shorter than the pause.
    assert time.monotonic() - responded > 0.75 / 2


IMPORT = "/admin/pets/pet/import/"
COOKIES = [b"sessionid=" + b"x" * 32, b"last_account=1:forged"]
BODIES = [
    (b"Content-Length: %d" % (127 * 2**20), b""),
    (b"Transfer-Encoding: chunked", b"%x\r\n" % (MAX_FORM_BYTES + 1) + b"x" * (MAX_FORM_BYTES + 1)),
]


@pytest.mark.parametrize("cookie", COOKIES)
@pytest.mark.parametrize(("length", "body"), BODIES, ids=["declared", "chunked"])
def test_upload_of_a_stranger_is_rejected_before_it_is_complete(
    with_staff: Service, cookie: bytes, length: bytes, body: bytes
) -> None:
    response = response_to(with_staff, get(IMPORT, length, b"Cookie: " + cookie, method="POST"), body)

    assert response.status == 400
    assert b"The body is too large: send at most 65536 bytes." in response.body
    assert response.header("Connection") == "close"


def test_uploads_of_staff_are_read_completely_and_are_limited(with_staff: Service) -> None:
    with with_staff.client() as http:
        log_in(http, "ada", "correct horse")
        session = f"Cookie: sessionid={http.cookies['sessionid']}; last_account={http.cookies['last_account']}".encode()
    size = 3_000_000
    request = get(IMPORT, session, b"Content-Length: %d" % size, b"Expect: 100-continue", method="POST")
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(with_staff)) for _ in range(MAX_UPLOADS_OF_ACCOUNT)]
        for client in clients:
            assert client.response_to(request).status == 100
        rejected = response_to(with_staff, request)
        assert rejected.status == 400
        assert b"Other uploads are under way" in rejected.body

        for client in clients:
            client.send(b"x" * (size - 1))
            assert client.is_waiting()
            assert client.response_to(b"x").status == 403, "the form has no CSRF token"
    assert response_to(with_staff, request).status == 100
