"""The browsable API: with DEBUG only, for logged-in staff. It is chosen at start, so this runs a service of its own."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.conftest import Service, migrated_database_url, running_service

pytestmark = pytest.mark.once

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def debug_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("debug")
    with migrated_database_url(folder) as url, running_service(folder, DATABASE_URL=url, DEBUG="1") as running:
        running.create_staff("staff", "a long one")
        yield running


@pytest.fixture
def staff(debug_service: Service) -> Iterator[httpx.Client]:
    with debug_service.client() as client:
        page = client.get("/admin/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
        form = {"csrfmiddlewaretoken": token, "username": "staff", "password": "a long one"}
        assert client.post("/admin/login/", data=form).status_code == 302
        yield client


def test_staff_browse_the_api(staff: httpx.Client) -> None:
    for address in ("/v1/pets", "/v1/store/inventory", "/v1/health"):
        page = staff.get(address, headers=HTML)

        assert page.status_code == 200, page.text
        assert page.headers["Content-Type"].startswith("text/html")


def test_a_stranger_is_refused_in_the_browser_too(debug_service: Service) -> None:
    with debug_service.client() as client:
        assert client.get("/v1/pets", headers=HTML).status_code == 401


def test_programs_are_answered_in_json_with_debug_on(debug_service: Service) -> None:
    with debug_service.client(debug_service.create_key()) as client:
        assert client.get("/v1/pets", headers={"Accept": "*/*"}).json() == []


def test_failures_keep_their_shape_with_debug_on(debug_service: Service) -> None:
    with debug_service.client(debug_service.create_key()) as client:
        for address in ("/v1/nope", "/nope", "/v1/pets?limit=x"):
            assert set(client.get(address, headers={"Accept": "*/*"}).json()) == {"error"}
