"""What a client may have under way at a time: logins and uploads."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from petservice.server.admission import BusyError, Places
from petservice.server.limits import (
    CONCURRENT_LOGINS,
    MAX_FORM_BYTES,
    MAX_LOGINS,
    MAX_LOGINS_OF_ADDRESS,
    MAX_UPLOADS_OF_ACCOUNT,
)
from tests.databases import migrated_database_url
from tests.server.connections import Client, get
from tests.server.services import held, release, service_with_test_endpoints
from tests.service import Service, log_in, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")

Connect = Callable[[], Client]


def test_client_has_its_places_and_all_together_no_more_than_there_are() -> None:
    places = Places(3, of_a_client=2)
    with places.take("one"), places.take("one"):
        with pytest.raises(BusyError), places.take("one"):
            pass
        with places.take("two"), pytest.raises(BusyError), places.take("three"):
            pass
        with places.take("three"):
            pass
    with places.take("one"):
        pass


@pytest.fixture(scope="module")
def with_test_endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With logins that take until a test releases them."""
    folder = tmp_path_factory.mktemp("endpoints")
    with migrated_database_url(folder) as url, service_with_test_endpoints(folder, DATABASE_URL=url) as service:
        yield service


@pytest.fixture(scope="module")
def staffed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With one worker, and a member of staff."""
    folder = tmp_path_factory.mktemp("staffed")
    with (
        migrated_database_url(folder) as url,
        running_service(folder, DATABASE_URL=url, WEB_CONCURRENCY="1") as service,
    ):
        service.create_staff("ada", "correct horse")
        yield service


def login(service: Service, address: str) -> bytes:
    """A guess at a password from an address, by way of the proxy that this test is."""
    with service.client() as client:
        page = client.get("/admin/login/")
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[0]
    body = f"username=ada&password=guess&csrfmiddlewaretoken={token}".encode()
    headers = {
        "Cookie": f"csrftoken={page.cookies['csrftoken']}",
        "X-Forwarded-For": address,
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": str(len(body)),
    }
    return get("/admin/login/", *(f"{name}: {value}".encode() for name, value in headers.items()), method="POST") + body


def test_logins_are_bounded_for_each_address_and_in_all_and_hold_up_no_page(with_test_endpoints: Service) -> None:
    folder: Path = with_test_endpoints.log.parent
    with ExitStack() as stack:

        def send(address: str) -> Client:
            client = stack.enter_context(Client(with_test_endpoints))
            client.send(login(with_test_endpoints, address))
            return client

        waiting = [send("192.0.2.7") for _ in range(MAX_LOGINS_OF_ADDRESS)]
        wait_until(lambda: held(folder) == CONCURRENT_LOGINS)
        refused = send("192.0.2.7").answer()
        assert (refused.status, refused.headers["retry-after"]) == (429, "5")
        assert b"Too many logins at the same time" in refused.body
        assert "frame-ancestors" in refused.headers["content-security-policy"]

        waiting += [send("192.0.2.8") for _ in range(MAX_LOGINS - MAX_LOGINS_OF_ADDRESS)]
        wait_until(lambda: send("192.0.2.9").answer().status == 429)
        assert held(folder) == CONCURRENT_LOGINS
        release(folder)

        assert [client.answer().status for client in waiting] == [200] * MAX_LOGINS
        assert send("192.0.2.9").answer().status == 200


UPLOAD = b"Content-Length: %d" % (127 * 2**20)
IMPORT = "/admin/pets/pet/import/"


@pytest.mark.parametrize(
    ("path", "status"),
    [("/nowhere", 404), ("/admin/nowhere", 403), ("/docs", 404), ("/static/backoffice/admin.css", 405), (IMPORT, 403)],
)
def test_upload_of_a_stranger_is_refused_before_it_is_sent(staffed: Service, path: str, status: int) -> None:
    with Client(staffed) as client:
        client.send(get(path, UPLOAD, b"Cookie: sessionid=" + b"x" * 32, method="POST"))
        answer = client.answer()

        assert answer.status == status
        assert answer.headers["connection"] == "close"


def test_chunks_of_a_stranger_are_refused_beyond_the_size_of_a_form(staffed: Service) -> None:
    with Client(staffed) as client:
        client.send(get("/nowhere", b"Transfer-Encoding: chunked", method="POST"))
        client.send(b"%x\r\n" % (MAX_FORM_BYTES + 1), b"x" * (MAX_FORM_BYTES + 1))
        answer = client.answer()

    assert answer.status == 400
    assert b"too large" in answer.body


@pytest.fixture
def session(staffed: Service) -> bytes:
    """The header of somebody who is logged in."""
    with staffed.client() as http:
        log_in(http, "ada", "correct horse")
        return f"Cookie: sessionid={http.cookies['sessionid']}".encode()


def test_upload_of_staff_is_read_whole(staffed: Service, session: bytes) -> None:
    """The form lacks its token, so it is refused; but only after the last byte."""
    head = get(IMPORT, session, b"Content-Length: 3000000", b"Expect: 100-continue", method="POST")
    with Client(staffed) as client:
        client.send(head)
        assert client.answer().status == 100
        client.send(b"x" * 2_999_999)
        client.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.answer()
        client.socket.settimeout(30)
        client.send(b"x")
        assert client.answer().status == 403


def test_uploads_of_an_account_are_bounded(staffed: Service, session: bytes) -> None:
    size = 2 * MAX_FORM_BYTES
    request = get(IMPORT, session, b"Content-Length: %d" % size, b"Expect: 100-continue", method="POST")
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(staffed)) for _ in range(MAX_UPLOADS_OF_ACCOUNT)]
        for client in clients:
            client.send(request)
            assert client.answer().status == 100
        with Client(staffed) as another:
            another.send(request)
            refused = another.answer()
            assert refused.status == 400
            assert b"Other uploads are under way" in refused.body

        for client in clients:
            client.send(b"x" * size)
            assert client.answer().status == 403, "a form of no page of the service"
    with Client(staffed) as another:
        another.send(request)
        assert another.answer().status == 100
