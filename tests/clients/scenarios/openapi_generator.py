"""A client program with the client that the OpenAPI Generator's `python` generates: `openapi_generator.py URL KEY`."""

import sys
from collections.abc import Callable
from uuid import uuid4

import openapi_client as api
from openapi_client.exceptions import ApiException, BadRequestException, NotFoundException

address, key = sys.argv[1:]


def client_with(**keys: str) -> api.ApiClient:
    return api.ApiClient(api.Configuration(host=f"{address}/v1", api_key=keys))


client = client_with(apiKey=key)
pets, store = api.PetsApi(client), api.StoreApi(client)

# Health needs no key.
assert api.DefaultApi(client_with()).health_check().status is api.HealthStatus.OK

before = store.get_inventory()

# Create.
created = pets.create_pet_with_http_info(api.CreatePetRequest(name="Rex", tag="dog"))
rex = created.data
assert created.status_code == 201
assert isinstance(rex, api.Pet)
assert (rex.name, rex.tag) == ("Rex", "dog")
assert created.headers["Location"] == f"{address}/v1/pets/{rex.id}"

# List the two pets after Rex.
once = str(uuid4())
others = [pets.create_pet(api.CreatePetRequest(name=name)) for name in ("Żółw", "Polly")]
others.append(pets.create_pet(api.CreatePetRequest(name="Mia"), idempotency_key=once))
assert others[0].to_dict() == {"id": others[0].id, "name": "Żółw"}
assert pets.list_pets(2, rex.id) == others[:2]

assert pets.get_pet(rex.id) == rex

# The counts include the new pets.
assert store.get_inventory() == api.Inventory(available=before.available + 4, pending=before.pending, sold=before.sold)


def refusal(call: Callable[[], object], kind: type[ApiException]) -> api.ErrorCode:
    try:
        call()
    except kind as error:
        body = error.data
    assert isinstance(body, api.ErrorResponse)
    assert body.error.message
    return body.error.code


assert refusal(lambda: pets.get_pet("none"), NotFoundException) is api.ErrorCode.NOT_FOUND
blank = api.CreatePetRequest.model_construct(name=" ")  # not checked by the client
assert refusal(lambda: pets.create_pet(blank), BadRequestException) is api.ErrorCode.BAD_REQUEST
