"""The browsable API exists only with DEBUG, and only for administrators who are logged in.

The setting is read at the start, so these tests run a service of their own.
"""

import html
import re
from collections.abc import Iterator

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


def test_staff_browse_pages_with_indented_json_a_form_and_a_logout(debug_service: Service) -> None:
    with debug_service.client() as staff:
        log_in(staff, "administrator", "a long one")
        for address in ("/v1/store/inventory", "/v1/health"):
            page = staff.get(address, headers=HTML)
            assert page.status_code == 200, page.text
            assert page.headers["Content-Type"].startswith("text/html")
        token = {"X-CSRFToken": staff.cookies["csrftoken"]}
        created = staff.post("/v1/pets", json={"name": "Rex"}, headers=token).json()
        text = html.unescape(staff.get("/v1/pets", headers=HTML).text)

    assert re.search(rf'\n +"id": "{created["id"]}",\n +"name": "Rex"', re.sub("<[^>]*>", "", text))
    assert 'name="_content"' in text
    assert 'action="/admin/logout/"' in text


def test_other_staff_get_no_form_and_others_no_page(debug_service: Service) -> None:
    with debug_service.client() as assistant:
        log_in(assistant, "assistant", "a long one")
        page = assistant.get("/v1/pets", headers=HTML)

    assert page.status_code == 403
    assert "Your account may not do this" in page.text
    assert "<form" not in page.text.partition('class="content-main"')[2]
    with debug_service.client() as anonymous:
        assert anonymous.get("/v1/pets", headers=HTML).status_code == 401


def test_programs_get_json_with_debug_also_for_errors(debug_service: Service) -> None:
    with debug_service.client(debug_service.create_key()) as client:
        for accepted in ("*/*", "image/png", "nonsense"):
            assert isinstance(client.get("/v1/pets", headers={"Accept": accepted}).json(), list)
            for address in ("/v1/nope", "/nope", "/v1/pets?limit=x"):
                assert set(client.get(address, headers={"Accept": accepted}).json()) == {"error"}
