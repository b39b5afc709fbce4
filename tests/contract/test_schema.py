"""The OpenAPI document is complete and committed, and its page loads nothing from other hosts."""

import json
import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from petservice import openapi
from tests.contract.transports import SocketTransport

SNAPSHOT = Path(__file__).with_name("openapi.json")


def test_the_document_is_the_committed_one() -> None:
    assert Client().get("/openapi.json").json() == json.loads(SNAPSHOT.read_text()), (
        "update the snapshot as tests/README.md says, and read its diff"
    )


@pytest.mark.parametrize("address", ["/openapi.json", "/docs", "/docs?script"])
def test_parameters_and_headers_do_not_change_the_document(server_transport: SocketTransport, address: str) -> None:
    def described(query: str = "", *headers: tuple[str, str]) -> tuple[int, bytes]:
        reply = server_transport.send("GET", address + query, headers)
        return reply.status, re.sub(rb"\w{64}", b"", reply.body)  # the script has a new CSRF token each time

    plain = described()
    assert plain[0] == 200
    mark = "&" if "?" in address else "?"
    for parameter in ("version=%00", "version=%0A", "version=2%22", "lang=de", "lang=%00", "format=yaml"):
        assert described(mark + parameter) == plain, parameter
    for accepted in ("application/yaml", "application/vnd.oai.openapi", "application/json; indent=1"):
        assert described("", ("Accept", accepted), ("Accept-Language", "de")) == plain, accepted


def test_operations_and_fields_without_examples_are_described() -> None:
    field = {"type": "string"}
    schemas = {"New": {"description": "A new thing.", "properties": {"name": field, "new": {"type": "string"}}}}
    body = {"schema": {"$ref": "#/components/schemas/New"}}
    operations = [
        {"requestBody": {"content": {"a": dict(body)}}, "responses": {"200": {"content": {"a": dict(body)}}}},
        {"responses": {"200": {"content": {"a": body | {"example": {"name": "Rex"}}}}}},
    ]
    enums = {name: {} for name in openapi._ENUM_DESCRIPTIONS}
    paths = {str(number): {"post": operation} for number, operation in enumerate(operations)}

    described = openapi.describe_components({"components": {"schemas": schemas | enums}, "paths": paths})

    assert field["example"] == "Rex"
    assert "example" not in described["components"]["schemas"]["New"]["properties"]["new"]


def test_the_documentation_page_loads_nothing_from_another_host() -> None:
    page = Client().get("/docs").content.decode()

    loaded = re.findall(r"""(?:src|href)=["']([^"']+)["']""", page)
    assert loaded
    assert [address for address in loaded if not re.match(r"#|/(?!/)", address)] == []
    assert "//cdn" not in page


@pytest.mark.django_db
def test_browsable_api_does_not_exist_without_debug() -> None:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(get_user_model().objects.create_user("staff", is_staff=True))

    response = client.get("/v1/pets")

    assert (response.status_code, response["Content-Type"]) == (401, "application/json")
