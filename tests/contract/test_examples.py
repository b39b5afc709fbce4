"""The examples of the OpenAPI document are what the service really answers."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.conf import LazySettings
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from pets.models import Pet
from pets.views import PetViewSet
from petservice.apikeys.models import APIKey
from petservice.health import HealthViewSet
from store import views as store_views
from tests.contract.transports import SocketWire
from tests.described import DOCUMENT
from tests.redis_server import RedisServer

OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in json.loads(DOCUMENT.read_text())["paths"].items()
    for method, operation in methods.items()
}
ANSWERS = [
    (operation_id, status) for operation_id, (*_, operation) in OPERATIONS.items() for status in operation["responses"]
]
REQUEST_ID = "6f1c0a5e9b3d4f7c8a2e1d0b9c8f7a6e"


REX = OPERATIONS["getPet"][2]["responses"]["200"]["content"]["application/json"]["example"]
(PET_ID,) = (parameter["example"] for parameter in OPERATIONS["getPet"][2]["parameters"])
NEXT_PAGE = OPERATIONS["listPets"][2]["responses"]["200"]["headers"]["Link"]["schema"]["example"]
(KEY,) = (parameter["example"] for parameter in OPERATIONS["createPet"][2]["parameters"])
BODY = json.loads(DOCUMENT.read_text())["components"]["schemas"]["CreatePetRequest"]["example"]


@pytest.fixture
def developer(settings: LazySettings, create_key: Callable[..., str]) -> Client:
    """A client at the address of the examples, with the request id of the examples."""
    settings.ALLOWED_HOSTS = ["pets.example.com"]
    headers = {"Host": "pets.example.com", "X-API-Key": create_key(), "X-Request-ID": REQUEST_ID}
    return Client(headers=headers, raise_request_exception=False)


def send(client: Client, operation_id: str, *, body: object = BODY, **headers: str) -> HttpResponse:
    """The operation, with the document's own examples."""
    method, path, _ = OPERATIONS[operation_id]
    path = "/v1" + path.format(petId=PET_ID)
    if method != "POST":
        return client.generic(method, path, secure=True, headers=headers)
    return client.post(path, body, "application/json", secure=True, headers={"Idempotency-Key": KEY, **headers})


def succeed(client: Client, operation_id: str, monkeypatch: pytest.MonkeyPatch) -> HttpResponse:
    if operation_id == "getInventory":
        Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in ("available", "available", "sold"))
    elif operation_id != "createPet":
        Pet.objects.create(**REX)
    return send(client, operation_id)


def be_malformed(client: Client, operation_id: str, monkeypatch: pytest.MonkeyPatch) -> HttpResponse:
    if operation_id == "listPets":
        return client.get("/v1/pets?limit=ten", secure=True)
    return send(client, operation_id, body={"tag": "dog"})


def come_without_a_key(client: Client, operation_id: str, monkeypatch: pytest.MonkeyPatch) -> HttpResponse:
    del client.defaults["HTTP_X_API_KEY"]
    return send(client, operation_id)


def come_with_the_wrong_key(client: Client, operation_id: str, monkeypatch: pytest.MonkeyPatch) -> HttpResponse:
    access = {"environment": "live"} if OPERATIONS[operation_id][0] == "GET" else {"access": "read"}
    return send(client, operation_id, **{"X-API-Key": APIKey.objects.create_key(name="Acme", **access)[1]})


def ask_for_no_pet(client: Client, operation_id: str, monkeypatch: pytest.MonkeyPatch) -> HttpResponse:
    return client.generic(OPERATIONS[operation_id][0], "/v1/pets/42", secure=True)


def come_while_the_first_is_running(client: Client, operation_id: str, monkeypatch: pytest.MonkeyPatch) -> HttpResponse:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite's one writer lets the second request queue")
    with other_connection_claims(KEY):
        return send(client, operation_id)


@contextmanager
def other_connection_claims(key: str) -> Iterator[None]:
    other = connection.copy()
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            claim = "SELECT pg_advisory_xact_lock(hashtextextended(%s, %s))"
            cursor.execute(claim, [f"idempotency:{key}", APIKey.objects.get().pk])
        yield
    finally:
        other.rollback()
        other.close()


def use_the_key_for_another_pet(client: Client, operation_id: str, monkeypatch: pytest.MonkeyPatch) -> HttpResponse:
    assert send(client, operation_id, body={"name": "Tom"}).status_code == 201
    return send(client, operation_id)


def come_too_often(client: Client, operation_id: str, monkeypatch: pytest.MonkeyPatch) -> HttpResponse:
    APIKey.objects.update(requests_per_minute=60)
    assert {send(client, "getInventory").status_code for _ in range(60)} == {200}
    return send(client, operation_id)


def meet_a_crash(client: Client, operation_id: str, monkeypatch: pytest.MonkeyPatch) -> HttpResponse:
    def crash(*args: object) -> None:
        raise RuntimeError

    if operation_id == "getInventory":
        monkeypatch.setattr(store_views, "inventory_counts", crash)
    elif operation_id == "healthCheck":
        monkeypatch.setattr(HealthViewSet, "retrieve", crash)
    else:
        monkeypatch.setattr(PetViewSet, "initial", crash)
    return send(client, operation_id)


WAYS = {
    "200": succeed,
    "201": succeed,
    "204": succeed,
    "400": be_malformed,
    "401": come_without_a_key,
    "403": come_with_the_wrong_key,
    "404": ask_for_no_pet,
    "409": come_while_the_first_is_running,
    "422": use_the_key_for_another_pet,
    "429": come_too_often,
    "500": meet_a_crash,
}
# What else is wrong with these can only be the HTTP itself, which gunicorn refuses.
REFUSED_BY_THE_SERVER = [
    (operation_id, "400")
    for operation_id, (*_, operation) in OPERATIONS.items()
    if operation_id != "listPets" and "requestBody" not in operation
]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("operation_id", "status"), [one for one in ANSWERS if one not in REFUSED_BY_THE_SERVER and one[1] != "429"]
)
def test_example_is_a_real_answer(
    developer: Client, monkeypatch: pytest.MonkeyPatch, operation_id: str, status: str
) -> None:
    assert_example_is_real(developer, monkeypatch, operation_id, status)


@pytest.mark.redis
@pytest.mark.parametrize("operation_id", [operation_id for operation_id, status in ANSWERS if status == "429"])
def test_example_of_a_request_too_many_is_a_real_answer(
    developer: Client, redis_in_use: RedisServer, monkeypatch: pytest.MonkeyPatch, operation_id: str
) -> None:
    assert_example_is_real(developer, monkeypatch, operation_id, "429")


def assert_example_is_real(developer: Client, monkeypatch: pytest.MonkeyPatch, operation_id: str, status: str) -> None:
    described = OPERATIONS[operation_id][2]["responses"][status]

    response = WAYS[status](developer, operation_id, monkeypatch)

    assert response.status_code == int(status)
    made_up = response.json()["id"] if status == "201" else REX["id"]  # a new pet's id is not known before
    if "content" in described:
        example = described["content"]["application/json"]["example"]
        assert response.json() == (example | {"id": made_up} if status == "201" else example)
    else:
        assert response.content == b""
    for name, header in described["headers"].items():
        if status == "429" and name == "Retry-After":  # the time of day is nothing to foretell, either
            assert 1 <= int(response[name]) <= 60
        elif header.get("required"):
            assert response[name].replace(made_up, REX["id"]) == str(header["schema"]["example"]), name


@pytest.mark.parametrize(("operation_id", "status"), REFUSED_BY_THE_SERVER)
def test_example_is_what_the_server_answers_to_malformed_http(
    socket_wire: SocketWire, operation_id: str, status: str
) -> None:
    method, path, operation = OPERATIONS[operation_id]

    reply = socket_wire.send_bytes(f"{method} /v1{path} HTTP/1.1\r\nno colon\r\n\r\n".encode())

    assert reply.status == int(status)
    assert reply.json() == operation["responses"][status]["content"]["application/json"]["example"]


@pytest.mark.django_db
def test_example_of_the_next_page_is_a_real_one(developer: Client) -> None:
    (limit,) = map(int, re.findall(r"limit=(\d+)", NEXT_PAGE))
    earlier = [Pet(id=f"00000000-0000-7000-8000-{number:012}", name="Tom") for number in range(limit - 1)]
    Pet.objects.bulk_create([*earlier, Pet(**REX), Pet(id=f"f{REX['id'][1:]}", name="Tim")])

    page = developer.get(f"/v1/pets?limit={limit}", secure=True)
    address = page["Link"].removeprefix("<").partition(">")[0]

    assert page["Link"] == NEXT_PAGE
    assert [pet["name"] for pet in developer.get(address, secure=True).json()] == ["Tim"]


@pytest.mark.django_db
def test_example_of_a_replayed_answer_is_a_real_one(developer: Client) -> None:
    first, second = (send(developer, "createPet") for _ in range(2))

    header = OPERATIONS["createPet"][2]["responses"]["201"]["headers"]["Idempotency-Replayed"]
    assert "Idempotency-Replayed" not in first
    assert [second["Idempotency-Replayed"]] == header["schema"]["enum"]
    assert second.json() == first.json()
