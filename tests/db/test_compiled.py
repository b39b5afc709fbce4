"""A request makes two queries: one for its API key, and one for its result."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from pets.models import Pet
from pets.services import create_pet
from petservice.db.compiled import CompiledInsert, CompiledQuery


@pytest.fixture
def client(create_key: Callable[..., str]) -> Client:
    client = Client(headers={"X-API-Key": create_key()})
    client.get("/v1/pets")  # the first request also checks for pending migrations
    return client


@pytest.mark.parametrize(
    "path", ["/v1/pets", "/v1/pets?limit=2", "/v1/pets?after={id}", "/v1/pets/{id}", "/v1/store/inventory"]
)
def test_read_queries_the_key_and_the_result(client: Client, path: str) -> None:
    pet = create_pet(name="Rex")

    with CaptureQueriesContext(connection) as queries:
        assert client.get(path.format(id=pet.id)).status_code == 200

    assert ["apikeys_apikey" in query["sql"] for query in queries] == [True, False]


def test_post_queries_the_key_and_inserts_the_pet(client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert client.post("/v1/pets", {"name": "Rex"}, content_type="application/json").status_code == 201

    assert [query["sql"].split('"')[0] for query in queries] == ["SELECT ", "INSERT INTO "]


def test_compiled_query_runs_with_the_parameters_of_each_request(client: Client) -> None:
    pets = [create_pet(name=f"Pet {number}") for number in range(5)]

    for pet in pets:
        assert client.get(f"/v1/pets/{pet.id}").json()["name"] == pet.name
    for limit in range(1, 7):
        assert [pet["name"] for pet in client.get(f"/v1/pets?limit={limit}").json()] == [p.name for p in pets[:limit]]
    for number, pet in enumerate(pets):
        page = client.get(f"/v1/pets?limit=2&after={pet.id}").json()
        assert [found["name"] for found in page] == [p.name for p in pets[number + 1 : number + 3]]


def test_database_errors_are_django_s_exceptions(db: None) -> None:
    insertion = CompiledInsert(Pet)
    pet = insertion.write(name="Rex")

    with pytest.raises(IntegrityError), transaction.atomic():
        insertion.write(id=pet.id, name="Kit")

    assert [pet.name for pet in Pet.objects.all()] == ["Rex"]


def test_insertion_rejects_an_unknown_field() -> None:
    with pytest.raises(TypeError, match="Pet has no field tga"):
        CompiledInsert(Pet).write(name="Rex", tga="dog")


@pytest.mark.parametrize("example", ["an id", 987_654_321])
def test_query_that_does_not_use_its_parameter_is_an_error(db: None, example: str | int) -> None:
    query = CompiledQuery(lambda example: Pet.objects.values_list("name")[:5], example)

    with pytest.raises(LookupError, match="no parameter of the query"):
        query.rows(example)
