"""Clients without a session get the login page and redirects to it from memory, each with a form token of its own."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing

import httpx
import pytest
from django.contrib.messages import constants
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpResponse
from django.test import RequestFactory

from petservice.handler import Handler
from petservice.server.anonymous_pages import AnonymousPages
from petservice.server.limits import PAGE_THREADS
from petservice.server.public_responses import PublicResponses
from tests.server.connections import Client, Response, get, request_of
from tests.server.services import clear, held_requests, release
from tests.service import Service, log_in
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")

LOGIN = "/admin/login/"
LIST = "/admin/pets/pet/"
INVENTED = f"Cookie: sessionid={'x' * 32}".encode()
# The session key has eight NUL characters, as cookies write them.
NULS = b'Cookie: sessionid="' + rb"\000" * 8 + b'"'


@pytest.fixture
def client(with_test_endpoints: Service) -> Iterator[Client]:
    with Client(with_test_endpoints) as client:
        yield client


@pytest.fixture
def browser(with_test_endpoints: Service) -> Iterator[httpx.Client]:
    release(with_test_endpoints.log.parent)  # the test endpoints would hold logins
    with with_test_endpoints.client() as browser:
        yield browser


def page(client: Client, path: str, *headers: bytes) -> Response:
    client.send(get(path, *headers))
    return client.response()


def token_of(page: httpx.Response) -> str:
    return re.findall(r'name="csrfmiddlewaretoken" value="(\w{64})"', page.text)[0]


def without_token(text: str) -> str:
    return re.sub(r'(?<=name="csrfmiddlewaretoken" value=")\w{64}', "", text)


def test_pages_need_no_thread(with_test_endpoints: Service, client: Client, browser: httpx.Client) -> None:
    requests = [
        (LOGIN, b""),
        (f"{LOGIN}?next={LIST}", b""),
        (LIST, b""),
        (LIST, INVENTED),
        (LIST, NULS),
        ("/admin/nowhere", b""),
    ]

    def statuses() -> list[int]:
        return [page(client, path, *([header] if header else [])).status for path, header in requests]

    first = statuses()
    log_in(browser, "ada", "correct horse")
    assert browser.get("/admin/").status_code == 200
    session = f"Cookie: sessionid={browser.cookies['sessionid']}".encode()
    folder = with_test_endpoints.log.parent
    clear(folder)
    with ExitStack() as stack:
        stack.callback(release, folder)
        for _ in range(PAGE_THREADS):
            stack.enter_context(Client(with_test_endpoints)).send(get("/held", session))
        wait_until(lambda: held_requests(folder) == PAGE_THREADS)

        assert statuses() == first == [200, 200, 302, 302, 302, 302]


@pytest.mark.parametrize("path", [LOGIN, f"{LOGIN}?next={LIST}", f"{LOGIN}?next=//example.com/", LIST])
def test_later_response_differs_from_the_first_by_its_token_alone(browser: httpx.Client, path: str) -> None:
    responses = []
    for _ in range(2):
        browser.cookies.clear()
        # The access log and the cache tell hosts apart.
        responses.append(browser.get(path, headers={"Host": "localhost", "X-Request-ID": "id"}))
    first, second = responses

    assert without_token(second.text) == without_token(first.text)
    for response in responses:
        for name in ("Set-Cookie", "Expires", "Date"):
            response.headers.pop(name, None)
    assert sorted(second.headers.items()) == sorted(first.headers.items())


def test_login_page_says_that_it_leads_back_only_if_it_does(browser: httpx.Client) -> None:
    for _ in range(2):
        pages = [browser.get(path).text for path in (LOGIN, f"{LOGIN}?next={LIST}", f"{LOGIN}?next=//example.com/")]
        assert ["Log in to continue" in page for page in pages] == [False, True, False]


def test_each_client_gets_its_own_token(with_test_endpoints: Service) -> None:
    sent = set()
    for _ in range(3):
        with with_test_endpoints.client() as browser:
            sent |= {token_of(browser.get(LOGIN)), browser.cookies["csrftoken"]}
    assert len(sent) == 6


def test_login_page_in_one_window_is_valid_after_another_window_has_loaded_it(browser: httpx.Client) -> None:
    first = token_of(browser.get(LOGIN))
    held = browser.cookies["csrftoken"]
    assert token_of(browser.get(LOGIN)) != first
    assert browser.cookies["csrftoken"] == held

    form = {"csrfmiddlewaretoken": first, "username": "ada", "password": "correct horse"}
    assert browser.post(LOGIN, data=form).status_code == 302


@pytest.mark.parametrize("target", [f"{LIST}?tag=a%26b", "/admin/nowhere/é?next=/x", "/admin/"])
def test_login_leads_back_to_the_requested_page(browser: httpx.Client, target: str) -> None:
    for _ in range(2):
        redirect = browser.get(target)
        assert redirect.status_code == 302
    url = redirect.headers["Location"]
    form = {"csrfmiddlewaretoken": token_of(browser.get(url)), "username": "ada", "password": "correct horse"}

    back = browser.post(url, data=form, headers={"Referer": str(browser.base_url)})
    assert str(browser.base_url.join(back.headers["Location"])) == str(redirect.request.url)


def test_staff_get_pages_and_no_redirect(browser: httpx.Client) -> None:
    assert browser.get(LIST).status_code == 302
    log_in(browser, "ada", "correct horse")
    assert browser.get(LIST).status_code == 200
    assert browser.get(LOGIN).headers["Location"] == "/admin/"


def test_client_with_a_message_gets_it_and_a_forged_one_is_no_reason_for_work() -> None:
    storage = CookieStorage(RequestFactory().get(LOGIN))
    storage.add(constants.SUCCESS, "The password is set.")
    storage.update(response := HttpResponse())
    pages = AnonymousPages(PublicResponses(Handler()))

    def may_have(cookie: str) -> bool:
        with closing(request_of(LOGIN, b"", (b"cookie", cookie.encode()))) as request:
            return pages.may_have(request)

    assert not may_have(f"messages={response.cookies['messages'].coded_value}")
    assert may_have("messages=forged")
    assert may_have("other=1")


def test_unknown_host_gets_an_error_each_time(client: Client) -> None:
    assert page(client, LOGIN).status == 200
    for _ in range(2):
        client.send(b"GET /admin/login/?next=/admin/ HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n")
        assert client.response().status == 400


def test_path_that_no_page_has_is_not_found(client: Client) -> None:
    for _ in range(2):
        assert page(client, "/admin/a%0Ab").status == 404  # Django's pattern for all other paths matches no newline
