"""A client program with the client that openapi-python-client generates: `openapi_python_client.py URL KEY`."""

import sys
from http import HTTPStatus
from typing import get_type_hints
from uuid import uuid4

from pet_service_api_client import AuthenticatedClient, Client, models
from pet_service_api_client.api.default import health_check
from pet_service_api_client.api.pets import create_pet, get_pet, list_pets
from pet_service_api_client.api.store import get_inventory
from pet_service_api_client.types import UNSET, Unset

address, key = sys.argv[1:]


def client_with(key: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=f"{address}/v1", token=key, prefix="", auth_header_name="X-API-Key")


with Client(base_url=f"{address}/v1") as anyone, client_with(key) as client, client_with("wrong") as stranger:
    # Health needs no key.
    health = health_check.sync(client=anyone)
    assert health == models.Health(status=models.HealthStatus.OK)

    before = get_inventory.sync(client=client)
    assert isinstance(before, models.Inventory)
    assert {"available": int, "pending": int, "sold": int}.items() <= get_type_hints(models.Inventory).items()

    # Create.
    response = create_pet.sync_detailed(client=client, body=models.CreatePetRequest(name="Rex", tag="dog"))
    rex = response.parsed
    assert response.status_code == HTTPStatus.CREATED
    assert isinstance(rex, models.Pet)
    assert (rex.name, rex.tag, rex.additional_properties) == ("Rex", "dog", {})
    assert {"id": str, "name": str, "tag": str | Unset}.items() <= get_type_hints(models.Pet).items()
    assert response.headers["Location"] == f"{address}/v1/pets/{rex.id}"

    # List the two pets after Rex.
    others: list[models.Pet] = []
    for name in ("Żółw", "Polly", "Mia"):
        pet = create_pet.sync(client=client, body=models.CreatePetRequest(name=name), idempotency_key=str(uuid4()))
        assert isinstance(pet, models.Pet)
        assert pet.tag is UNSET
        others.append(pet)
    assert list_pets.sync(client=client, limit=2, after=rex.id) == others[:2]

    assert get_pet.sync(client=client, pet_id=rex.id) == rex

    # The counts include the new pets.
    inventory = get_inventory.sync(client=client)
    assert inventory == models.Inventory(available=before.available + 4, pending=before.pending, sold=before.sold)

    # Error responses.
    for response, status, code in (
        (get_pet.sync_detailed(client=client, pet_id="none"), HTTPStatus.NOT_FOUND, models.ErrorCode.NOT_FOUND),
        (list_pets.sync_detailed(client=client, limit=-1), HTTPStatus.BAD_REQUEST, models.ErrorCode.BAD_REQUEST),
        (list_pets.sync_detailed(client=stranger), HTTPStatus.UNAUTHORIZED, models.ErrorCode.UNAUTHORIZED),
    ):
        assert response.status_code == status
        assert isinstance(response.parsed, models.ErrorResponse)
        assert response.parsed.error.code is code
        assert response.parsed.error.message
