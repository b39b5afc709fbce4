"""The browsable API exists only with DEBUG, and only for staff who are logged in.

The setting is read at the start, so these tests run a service of their own.
"""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.databases import migrated_database_url
from tests.service import Service, log_in, running_service

pytestmark = pytest.mark.once

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def debug_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("debug")
    with migrated_database_url(folder) as url, running_service(folder, DATABASE_URL=url, DEBUG="1") as running:
        running.create_staff("administrator", "a long one")
        running.create_staff("assistant", "a long one", is_superuser=False)
        yield running


@contextmanager
def logged_in(service: Service, name: str) -> Iterator[httpx.Client]:
    with service.client() as client:
        log_in(client, name, "a long one")
        yield client


@pytest.fixture
def staff(debug_service: Service) -> Iterator[httpx.Client]:
    with logged_in(debug_service, "administrator") as client:
        yield client


@pytest.fixture(scope="module")
def assistant(debug_service: Service) -> Iterator[httpx.Client]:
    """An HTTP client, logged in as staff without permissions."""
    with logged_in(debug_service, "assistant") as client:
        yield client


def test_staff_browse_the_api(staff: httpx.Client) -> None:
    for address in ("/v1/pets", "/v1/store/inventory", "/v1/health"):
        page = staff.get(address, headers=HTML)

        assert page.status_code == 200, page.text
        assert page.headers["Content-Type"].startswith("text/html")


def test_pages_have_indented_json_a_form_and_a_logout(staff: httpx.Client) -> None:
    created = staff.post("/v1/pets", json={"name": "Rex"}, headers={"X-CSRFToken": staff.cookies["csrftoken"]}).json()

    page = html.unescape(staff.get("/v1/pets", headers=HTML).text)
    text = re.sub("<[^>]*>", "", page)

    assert re.search(rf'\n +"id": "{created["id"]}",\n +"name": "Rex"', text)
    assert 'name="_content"' in page
    assert 'action="/admin/logout/"' in page
    assert "name" in staff.get("/v1/pets", headers={"Accept": "application/json"}).json()[0]


@pytest.mark.parametrize(
    ("permission", "may"),
    [
        ("", set()),
        ("view_pet", {"GET /v1/pets"}),
        ("change_pet", {"GET /v1/pets"}),
        ("add_pet", {"POST /v1/pets"}),
        ("view_inventoryitem", {"GET /v1/store/inventory"}),
    ],
)
@pytest.mark.parametrize("accepted", ["text/html", "application/json"])
def test_staff_have_the_same_permissions_as_in_the_admin(
    debug_service: Service, assistant: httpx.Client, permission: str, may: set[str], accepted: str
) -> None:
    debug_service.execute("DELETE FROM auth_user_user_permissions")
    grant = (
        "INSERT INTO auth_user_user_permissions (user_id, permission_id)"
        " SELECT auth_user.id, auth_permission.id FROM auth_user, auth_permission WHERE username = %s AND codename = %s"
    )
    debug_service.execute(grant, "assistant", permission)
    headers = {"Accept": accepted, "X-CSRFToken": assistant.cookies["csrftoken"]}

    def status(operation: str) -> int:
        method, _, path = operation.partition(" ")
        body = {"name": permission or "none"} if method == "POST" else None
        return assistant.request(method, path, json=body, headers=headers).status_code

    operations = ("GET /v1/pets", "POST /v1/pets", "GET /v1/store/inventory")
    assert {one: status(one) for one in operations} == {
        one: (201 if one.startswith("POST") else 200) if one in may else 403 for one in operations
    }
    assert status("GET /v1/health") == 200


def test_staff_without_permissions_get_no_form(debug_service: Service, assistant: httpx.Client) -> None:
    debug_service.execute("DELETE FROM auth_user_user_permissions")
    page = assistant.get("/v1/pets", headers=HTML)

    assert page.status_code == 403
    assert "Your account may not do this" in page.text
    assert "<form" not in page.text.partition('class="content-main"')[2]


def test_browser_without_a_login_is_rejected(debug_service: Service) -> None:
    with debug_service.client() as client:
        assert client.get("/v1/pets", headers=HTML).status_code == 401


@pytest.mark.parametrize("accepted", ["*/*", "image/png", "nonsense"])
def test_programs_get_json_with_debug_also_for_errors(debug_service: Service, accepted: str) -> None:
    with debug_service.client(debug_service.create_key()) as client:
        assert isinstance(client.get("/v1/pets", headers={"Accept": accepted}).json(), list)
        for address in ("/v1/nope", "/nope", "/v1/pets?limit=x"):
            assert set(client.get(address, headers={"Accept": accepted}).json()) == {"error"}
