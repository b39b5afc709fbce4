"""The OpenAPI document is complete and committed, as are its paths."""

import json

import pytest
from django.contrib.admindocs.views import extract_views_from_urlpatterns, simplify_regex
from django.test import Client
from django.urls import get_resolver

from tests.contract.transports import SocketTransport
from tests.described import DOCUMENT

pytestmark = pytest.mark.once


def test_the_document_is_the_committed_one_whatever_a_client_asks_for() -> None:
    headers = {"Accept": "application/yaml", "Accept-Language": "de"}
    document = Client().get("/openapi.json?version=%0A&lang=de&format=yaml", headers=headers).json()
    committed = json.loads(DOCUMENT.read_text())

    assert document | {"servers": committed["servers"]} == committed, (
        "update the snapshot as tests/README.md says, and read its diff"
    )


def test_each_host_gets_a_document_with_the_url_that_it_used(server_transport: SocketTransport) -> None:
    for host, scheme in (("localhost:1", "http"), ("localhost:2", "https"), ("localhost:1", "https")):
        headers = [("Host", host), ("X-Forwarded-Proto", scheme)]
        (server,) = server_transport.send("GET", "/openapi.json", headers).json()["servers"]
        assert server["url"] == f"{scheme}://{host}/v1"


API = {
    route: view
    for view, regex, *_ in extract_views_from_urlpatterns(get_resolver().url_patterns)
    if (route := simplify_regex(regex)).startswith("/v1")
}


def test_the_api_has_exactly_the_paths_of_the_contract() -> None:
    assert sorted(API) == ["/v1/health", "/v1/pets", "/v1/pets/<str:petId>", "/v1/store/inventory"]


@pytest.mark.parametrize("route", sorted(API.keys() - {"/v1/health"}))
def test_every_route_but_health_requires_an_api_key_of_staff_as_well(admin_client: Client, route: str) -> None:
    for method in list(API[route].actions):  # type: ignore[attr-defined]
        response = admin_client.generic(method.upper(), route, headers={"Accept": "text/html"})

        assert (response.status_code, response["Content-Type"]) == (401, "application/json"), method
        assert response["WWW-Authenticate"]
