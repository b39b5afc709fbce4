"""The examples in the OpenAPI document are real responses of the service."""

import json
import re
from collections.abc import Callable

import pytest
from django.conf import LazySettings
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from pets.models import Pet
from pets.views import PetViewSet
from petservice.api.health import HealthViewSet
from petservice.apikeys.models import APIKey
from store import views as store_views
from tests.concurrent_write import second_connection
from tests.contract.transports import SocketTransport
from tests.described import DOCUMENT

OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in json.loads(DOCUMENT.read_text())["paths"].items()
    for method, operation in methods.items()
}
REQUEST_ID = "6f1c0a5e9b3d4f7c8a2e1d0b9c8f7a6e"

REX = OPERATIONS["getPet"][2]["responses"]["200"]["content"]["application/json"]["example"]
(PET_ID,) = (parameter["example"] for parameter in OPERATIONS["getPet"][2]["parameters"])
NEXT_PAGE = OPERATIONS["listPets"][2]["responses"]["200"]["headers"]["Link"]["schema"]["example"]
(KEY,) = (parameter["example"] for parameter in OPERATIONS["createPet"][2]["parameters"])
BODY = json.loads(DOCUMENT.read_text())["components"]["schemas"]["CreatePetRequest"]["example"]


@pytest.fixture
def developer(settings: LazySettings, create_key: Callable[..., str]) -> Client:
    """A test client with the host and the request ID of the examples."""
    settings.ALLOWED_HOSTS = ["pets.example.com"]
    headers = {"Host": "pets.example.com", "X-API-Key": create_key(), "X-Request-ID": REQUEST_ID}
    return Client(headers=headers, raise_request_exception=False)


def send(client: Client, operation_id: str, *, body: object = BODY, **headers: str) -> HttpResponse:
    """Send the request of an operation with the examples of the document."""
    method, path, _ = OPERATIONS[operation_id]
    path = "/v1" + path.format(petId=PET_ID)
    if method != "POST":
        return client.generic(method, path, secure=True, headers=headers)
    return client.post(path, body, "application/json", secure=True, headers={"Idempotency-Key": KEY, **headers})


def succeed(client: Client, operation_id: str) -> HttpResponse:
    if operation_id == "getInventory":
        Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in ("available", "available", "sold"))
    elif operation_id != "createPet":
        Pet.objects.create(**REX)
    return send(client, operation_id)


def send_invalid_input(client: Client, operation_id: str) -> HttpResponse:
    if operation_id == "listPets":
        return client.get("/v1/pets?limit=ten", secure=True)
    return send(client, operation_id, body={"tag": "dog"})


def send_no_key(client: Client, operation_id: str) -> HttpResponse:
    del client.defaults["HTTP_X_API_KEY"]
    return send(client, operation_id)


def send_a_forbidden_key(client: Client, operation_id: str) -> HttpResponse:
    access = {"environment": "live"} if OPERATIONS[operation_id][0] == "GET" else {"access": "read"}
    return send(client, operation_id, **{"X-API-Key": APIKey.objects.create_key(name="Acme", **access)[1]})


def request_an_unknown_pet(client: Client, operation_id: str) -> HttpResponse:
    return client.generic(OPERATIONS[operation_id][0], "/v1/pets/42", secure=True)


def repeat_during_the_first_request(client: Client, operation_id: str) -> HttpResponse:
    if connection.vendor == "sqlite":
        pytest.skip("on SQLite the second request waits for the only writer")
    with second_connection() as other:
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(%s, %s))"
        other.execute(lock, [f"idempotency:{KEY}", APIKey.objects.get().pk])
        return send(client, operation_id)


def reuse_the_key_for_another_pet(client: Client, operation_id: str) -> HttpResponse:
    assert send(client, operation_id, body={"name": "Tom"}).status_code == 201
    return send(client, operation_id)


def exceed_the_rate_limit(client: Client, operation_id: str) -> HttpResponse:
    APIKey.objects.update(requests_per_minute=60)
    assert {send(client, "getInventory").status_code for _ in range(60)} == {200}
    return send(client, operation_id)


def crash_in_the_view(client: Client, operation_id: str) -> HttpResponse:
    def crash(*args: object) -> None:
        raise RuntimeError

    views = {"getInventory": (store_views, "inventory_counts"), "healthCheck": (HealthViewSet, "retrieve")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*views.get(operation_id, (PetViewSet, "initial")), crash)
        return send(client, operation_id)


CAUSES = {
    "200": succeed,
    "201": succeed,
    "400": send_invalid_input,
    "401": send_no_key,
    "403": send_a_forbidden_key,
    "404": request_an_unknown_pet,
    "409": repeat_during_the_first_request,
    "422": reuse_the_key_for_another_pet,
    "429": exceed_the_rate_limit,
    "500": crash_in_the_view,
}
# For these operations only malformed HTTP causes this status, and gunicorn sends the response.
REJECTED_BY_GUNICORN = [
    (operation_id, "400")
    for operation_id, (*_, operation) in OPERATIONS.items()
    if operation_id != "listPets" and "requestBody" not in operation
]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("operation_id", "status"),
    [
        pytest.param(operation_id, status, marks=pytest.mark.redis if status == "429" else ())
        for operation_id, (*_, operation) in OPERATIONS.items()
        for status in operation["responses"]
        if (operation_id, status) not in REJECTED_BY_GUNICORN
    ],
)
def test_example_is_a_real_response(
    request: pytest.FixtureRequest, developer: Client, operation_id: str, status: str
) -> None:
    if status == "429":
        request.getfixturevalue("redis_in_use")
    described = OPERATIONS[operation_id][2]["responses"][status]

    response = CAUSES[status](developer, operation_id)

    assert response.status_code == int(status)
    pet_id = response.json()["id"] if status == "201" else REX["id"]  # the service generates the id of a new pet
    if "content" in described:
        example = described["content"]["application/json"]["example"]
        assert response.json() == (example | {"id": pet_id} if status == "201" else example)
    else:
        assert response.content == b""
    for name, header in described["headers"].items():
        if status == "429" and name == "Retry-After":  # depends on the time of day
            assert 1 <= int(response[name]) <= 60
        elif header.get("required"):
            assert response[name].replace(pet_id, REX["id"]) == str(header["schema"]["example"]), name


@pytest.mark.parametrize(("operation_id", "status"), REJECTED_BY_GUNICORN)
def test_example_is_the_response_to_malformed_http(
    socket_transport: SocketTransport, operation_id: str, status: str
) -> None:
    method, path, operation = OPERATIONS[operation_id]

    reply = socket_transport.send_bytes(f"{method} /v1{path} HTTP/1.1\r\nno colon\r\n\r\n".encode())

    assert reply.status == int(status)
    assert reply.json() == operation["responses"][status]["content"]["application/json"]["example"]


@pytest.mark.django_db
def test_example_of_the_link_header_leads_to_the_next_page_even_if_the_last_pet_is_deleted(developer: Client) -> None:
    (limit,) = map(int, re.findall(r"limit=(\d+)", NEXT_PAGE))
    earlier = [Pet(id=f"00000000-0000-7000-8000-{number:012}", name="Tom") for number in range(limit - 1)]
    Pet.objects.bulk_create([*earlier, Pet(**REX), Pet(id=f"f{REX['id'][1:]}", name="Tim")])

    for size in (0, limit + 1):
        assert "Link" not in developer.get(f"/v1/pets?limit={size}", secure=True), size
    assert developer.get(f"/v1/pets?limit={limit}", secure=True)["Link"] == NEXT_PAGE
    Pet.objects.get(pk=REX["id"]).delete()
    address = NEXT_PAGE.removeprefix("<").partition(">")[0]
    assert [pet["name"] for pet in developer.get(address, secure=True).json()] == ["Tim"]
