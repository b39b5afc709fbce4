"""The API's operations on pets."""

import re
from operator import attrgetter
from typing import Any

from django.core.exceptions import ValidationError
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response

from pets import creator, schema, services
from pets.fields import SHOWN
from pets.models import Pet
from pets.serializers import CreatePetRequestSerializer, PetSerializer
from petservice.api.errors import RequestError
from petservice.api.pagination import KeysetPagination
from petservice.api.viewsets import APIViewSet, location
from petservice.apikeys.models import APIKey
from petservice.monitoring.counters import count
from petservice.monitoring.redaction import echo

IDEMPOTENCY_KEY = re.compile(r"[\x20-\x7e]{1,255}", re.ASCII)
_values = attrgetter(*SHOWN)


@schema.pets
class PetViewSet(ListModelMixin, APIViewSet):
    """The operations that list pets, create a pet and get a pet."""

    # Not objects of the model, which would take a third of the time of a long list.
    queryset = Pet.objects.order_by("pk").values_list(*SHOWN, named=True)
    pagination_class = KeysetPagination
    serializer_class = PetSerializer

    def create(self, request: Request) -> Response:
        idempotency_key = _idempotency_key(request)
        sent = CreatePetRequestSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        api_key: APIKey | None = request.auth  # type: ignore[assignment]  # the stubs know tokens only
        is_new = True
        if api_key is None:  # staff, in the browsable API
            pet = Pet.objects.create(**sent.validated_data, created_by=creator.of_staff(str(request.user)))
        elif idempotency_key is None:
            created_by = creator.of_key(api_key.prefix, api_key.name)
            pet = Pet.objects.create(**sent.validated_data, created_by=created_by)
        else:
            pet, is_new = _create_once(api_key, idempotency_key, sent.validated_data)
            count("idempotent_requests", "new" if is_new else "replayed")
        url = location(request.build_absolute_uri(request.path), pet.id)
        headers = {"Location": url} | ({} if is_new else {"Idempotency-Replayed": "true"})
        return Response(PetSerializer(_values(pet)).data, 201, headers=headers)

    # The OpenAPI document takes the name of the parameter from here: petId.
    def retrieve(self, request: Request, petId: str) -> Response:  # noqa: N803
        try:
            pet = self.get_queryset().get(pk=petId)
        except (Pet.DoesNotExist, ValidationError):  # of a text that is no id
            raise NotFound(unknown_pet(petId)) from None
        return Response(self.get_serializer(pet).data)


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


def _create_once(api_key: APIKey, idempotency_key: str, fields: dict[str, Any]) -> tuple[Pet, bool]:
    try:
        return services.create_pet_once(api_key=api_key, idempotency_key=idempotency_key, **fields)
    except services.IdempotencyKeyReusedError:
        raise RequestError(422, schema.KEY_REUSED, code="idempotency_key_reused") from None
    except services.IdempotencyKeyInUseError:
        raise RequestError(409, schema.KEY_IN_USE, code="idempotency_key_in_use", wait=1) from None
