"""The API's operations on pets."""

import re
from operator import attrgetter
from typing import Any

from django.http import HttpResponse
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer

from pets import creator, queries, schema, services
from pets.fields import SHOWN
from pets.models import Pet
from pets.serializers import CreatePetRequestSerializer, PetSerializer
from petservice.api.errors import RequestError
from petservice.api.pagination import Page, page_headers
from petservice.api.validators import is_id
from petservice.api.viewsets import APIViewSet, absolute_url
from petservice.apikeys.authentication import Client
from petservice.monitoring.redaction import echo

# One serializer for all requests, because a new serializer copies all of its fields.
_shown = PetSerializer().to_representation
_shown_fields = attrgetter(*SHOWN)
_requested = CreatePetRequestSerializer().run_validation
IDEMPOTENCY_KEY = re.compile(r"[\x20-\x7e]{1,255}", re.ASCII)


@schema.pets
class PetViewSet(APIViewSet):
    """The operations that list pets, create a pet and get a pet."""

    queryset = Pet.objects.all()  # for the names in the OpenAPI document, and the permissions that staff need
    insert_actions = frozenset({"create"})
    example_body = schema.EXAMPLE_BODY

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        return CreatePetRequestSerializer if self.action == "create" else PetSerializer

    def list(self, request: Request) -> HttpResponse:
        page = Page.parse(request.query_params.get("limit"), request.query_params.get("after"))
        pets, more = page.rows(queries.pets_after)
        return self.respond(
            [_shown(pet) for pet in pets], headers=page_headers(page, absolute_url(request), pets, more)
        )

    def create(self, request: Request) -> HttpResponse:
        idempotency_key = _idempotency_key(request)
        fields = _requested(request.data)
        client: Client | None = request.auth  # type: ignore[assignment]  # the stubs know tokens only
        if client is None:  # staff, in the browsable API
            pet, is_new = services.create_pet(**fields, created_by=creator.of_staff(str(request.user))), True
        else:
            fields["created_by"] = creator.of_key(client.prefix, client.name)
            if idempotency_key is None:
                pet, is_new = services.create_pet(**fields), True
            else:
                pet, is_new = _create_once(client.id, idempotency_key, fields)
        headers = {} if is_new else {"Idempotency-Replayed": "true"}
        return self.respond_created(_shown(_shown_fields(pet)), headers)

    # The OpenAPI document takes the name of the parameter from here: petId.
    def retrieve(self, request: Request, petId: str) -> HttpResponse:  # noqa: N803
        pet = queries.pet(petId) if is_id(petId) else None
        if pet is None:
            raise NotFound(unknown_pet(petId))
        return self.respond(_shown(pet))


def unknown_pet(pet_id: str) -> str:
    """Return the message of the error that no pet has an id."""
    return f"No pet has the id {echo(pet_id)}: GET /v1/pets lists those that exist."


def _idempotency_key(request: Request) -> str | None:
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
        raise ParseError(
            "Idempotency-Key must be one header of 1 to 255 printable ASCII characters, for example a UUID; "
            f"got {echo(key)}."
        )
    return key


def _create_once(api_key_id: int, idempotency_key: str, fields: dict[str, Any]) -> tuple[Pet, bool]:
    try:
        return services.create_pet_once(api_key_id=api_key_id, idempotency_key=idempotency_key, **fields)
    except services.IdempotencyKeyReusedError:
        raise RequestError(422, schema.KEY_REUSED) from None
    except services.IdempotencyKeyInUseError:
        raise RequestError(409, schema.KEY_IN_USE, wait=1) from None
