"""The OpenAPI document is complete and committed, and its page loads nothing from other hosts."""

import json
import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from petservice import openapi
from petservice.api.errors import CODES
from tests.contract.transports import SocketTransport

SNAPSHOT = Path(__file__).with_name("openapi.json")


@pytest.fixture
def document() -> dict:
    return Client().get("/openapi.json").json()


def test_the_document_is_the_committed_one(document: dict) -> None:
    assert document == json.loads(SNAPSHOT.read_text()), (
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


def test_the_document_has_the_five_operations(document: dict) -> None:
    operations = {
        (path, method): (operation["operationId"], operation.get("tags", []))
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }

    assert operations == {
        ("/pets", "get"): ("listPets", ["Pets"]),
        ("/pets", "post"): ("createPet", ["Pets"]),
        ("/pets/{petId}", "get"): ("getPet", ["Pets"]),
        ("/store/inventory", "get"): ("getInventory", ["Store"]),
        ("/health", "get"): ("healthCheck", []),
    }


def test_the_document_has_a_title_a_version_and_a_server(document: dict) -> None:
    assert document["openapi"] == "3.0.3"
    assert (document["info"]["title"], document["info"]["version"]) == ("pet service API", "1.0.0")
    assert [server["url"] for server in document["servers"]] == ["/v1"]
    assert {"Pet", "CreatePetRequest", "Inventory", "ErrorResponse"} <= set(document["components"]["schemas"])


def test_every_operation_but_health_requires_an_api_key(document: dict) -> None:
    assert document["components"]["securitySchemes"]["apiKey"]["name"] == "X-API-Key"
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert operation["security"] == ([{}] if path == "/health" else [{"apiKey": []}]), path


def test_every_failure_has_the_error_envelope(document: dict) -> None:
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    schema = response["content"]["application/json"]["schema"]
                    name = "TooManyRequestsResponse" if status == "429" else "ErrorResponse"
                    assert schema == {"$ref": f"#/components/schemas/{name}"}


def test_the_introduction_has_a_table_of_all_error_codes(document: dict) -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.+) \|$", document["info"]["description"], re.MULTILINE)

    assert {int(status): code for status, code, _ in rows} == CODES
    codes = [document["components"]["schemas"][name]["enum"] for name in ("ErrorCode", "TooManyRequestsCode")]
    assert [*codes[0], *codes[1]] == [*sorted({*CODES.values()} - {"too_many_requests"}), "too_many_requests"]
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert (status, response["description"]) in {(number, cause) for number, _, cause in rows}


def test_tag_is_optional_and_never_null(document: dict) -> None:
    for name in ("Pet", "CreatePetRequest"):
        schema = document["components"]["schemas"][name]
        assert "tag" not in schema["required"]
        assert "nullable" not in schema["properties"]["tag"]


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
