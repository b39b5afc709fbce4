import re
from typing import Any

from django.urls import reverse
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from pets import origin, queries, schema, services
from pets.models import Pet
from pets.serializers import CreatePetRequestSerializer, PetSerializer
from petservice.api.errors import BadRequest, Conflict, UnprocessableContent
from petservice.api.pagination import Page, is_id, page_headers
from petservice.api.redaction import echo
from petservice.api.viewsets import APIViewSet
from petservice.apikeys.models import APIKey

_IDEMPOTENCY_KEY = re.compile(r"[\x20-\x7e]{1,255}", re.ASCII)


@schema.pets
class PetViewSet(APIViewSet):
    """List pets, create one, fetch one."""

    queryset = Pet.objects.all()  # for the names in the document

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        return CreatePetRequestSerializer if self.action == "create" else PetSerializer

    def list(self, request: Request) -> Response:
        page = Page.from_request(request)
        pets, more = page.rows(queries.pets_after)
        serializer = PetSerializer(pets, many=True)  # type: ignore[arg-type]  # the stubs overlook many
        return Response(serializer.data, headers=page_headers(page, request, pets, more))

    def create(self, request: Request) -> Response:
        idempotency_key = _idempotency_key(request)
        serializer = CreatePetRequestSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        fields = serializer.validated_data
        if not isinstance(request.auth, APIKey):  # staff, in the browsable API
            pet, is_new = services.create_pet(**fields, created_through=origin.of_staff(str(request.user))), True
        elif idempotency_key is None:
            created_through = origin.of_key(request.auth.prefix, request.auth.name)
            pet, is_new = services.create_pet(**fields, created_through=created_through), True
        else:
            pet, is_new = _create_once(request.auth, idempotency_key, fields)
        headers = {"Location": request.build_absolute_uri(reverse("pet", args=[pet.id]))}
        if not is_new:
            headers["Idempotency-Replayed"] = "true"
        return Response(PetSerializer(pet).data, status=201, headers=headers)

    # petId is the contract's name for it, which the document takes from here.
    def retrieve(self, request: Request, petId: str) -> Response:  # noqa: N803
        pet = queries.pet(petId) if is_id(petId) else None
        if pet is None:
            raise NotFound(f"No pet has the id {echo(petId)}: GET /v1/pets lists those that exist.")
        return Response(PetSerializer(pet).data)


def _idempotency_key(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is not None and not _IDEMPOTENCY_KEY.fullmatch(key):
        raise BadRequest(
            f"Idempotency-Key must be 1 to 255 printable ASCII characters, for example a UUID; got {echo(key)}."
        )
    return key


def _create_once(api_key: APIKey, idempotency_key: str, fields: dict[str, Any]) -> tuple[Pet, bool]:
    try:
        return services.create_pet_once(api_key=api_key, idempotency_key=idempotency_key, **fields)
    except services.IdempotencyKeyReusedError:
        raise UnprocessableContent(
            "This Idempotency-Key was used with another name or tag: send a new key with a new request."
        ) from None
    except services.IdempotencyKeyInUseError:
        raise Conflict(
            "A request with this Idempotency-Key is still running: send it again after the seconds in Retry-After.",
            wait=1,
        ) from None
