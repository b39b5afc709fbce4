"""The OpenAPI document is complete and committed, as are its paths."""

import json

import pytest
from django.contrib.admindocs.views import extract_views_from_urlpatterns, simplify_regex
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import get_resolver

from tests.contract.transports import SocketTransport
from tests.described import DOCUMENT

pytestmark = pytest.mark.once


def test_the_document_is_the_committed_one() -> None:
    document = Client().get("/openapi.json").json()
    committed = json.loads(DOCUMENT.read_text())

    assert document | {"servers": committed["servers"]} == committed, (
        "update the snapshot as tests/README.md says, and read its diff"
    )


def test_each_host_gets_a_document_with_the_url_that_it_used(server_transport: SocketTransport) -> None:
    for host, scheme in (("localhost:1", "http"), ("localhost:2", "https"), ("localhost:1", "https")):
        headers = [("Host", host), ("X-Forwarded-Proto", scheme)]
        (server,) = server_transport.send("GET", "/openapi.json", headers).json()["servers"]
        assert server["url"] == f"{scheme}://{host}/v1"


@pytest.mark.parametrize("address", ["/openapi.json", "/docs"])
def test_parameters_and_headers_do_not_change_the_document(server_transport: SocketTransport, address: str) -> None:
    def described(query: str = "", *headers: tuple[str, str]) -> tuple[int, bytes]:
        reply = server_transport.send("GET", address + query, headers)
        return reply.status, reply.body

    plain = described()
    assert plain[0] == 200
    for parameter in ("version=%00", "version=%0A", "version=2%22", "lang=de", "lang=%00", "format=yaml"):
        assert described(f"?{parameter}") == plain, parameter
    for accepted in ("application/yaml", "application/vnd.oai.openapi", "application/json; indent=1"):
        assert described("", ("Accept", accepted), ("Accept-Language", "de")) == plain, accepted


@pytest.mark.django_db
def test_browsable_api_does_not_exist_without_debug() -> None:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(get_user_model().objects.create_user("staff", is_staff=True))

    response = client.get("/v1/pets")

    assert (response.status_code, response["Content-Type"]) == (401, "application/json")


API = {
    route: view
    for view, regex, *_ in extract_views_from_urlpatterns(get_resolver().url_patterns)
    if (route := simplify_regex(regex)).startswith("/v1")
}


def test_the_api_has_exactly_the_paths_of_the_contract() -> None:
    assert sorted(API) == ["/v1/health", "/v1/pets", "/v1/pets/<str:petId>", "/v1/store/inventory"]


@pytest.mark.parametrize("route", sorted(API.keys() - {"/v1/health"}))
def test_every_route_but_health_requires_an_api_key(route: str) -> None:
    for method in list(API[route].actions):  # type: ignore[attr-defined]
        response = Client().generic(method.upper(), route)

        assert response.status_code == 401, method
        assert response["WWW-Authenticate"]
