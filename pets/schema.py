"""How the OpenAPI document describes the pets' operations."""

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view

from pets.fields import OPTIONAL_TEXTS
from pets.serializers import CreatePetRequestSerializer, PetSerializer
from petservice.api.fields import ID_SCHEMA
from petservice.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from petservice.api.schema import example, failures, response_header, retry_after, standard_headers

REX = {"id": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "Rex", "tag": "dog"}
# What the API says of an Idempotency-Key that cannot be taken.
KEY_IN_USE = "A request with this Idempotency-Key is still running: send it again after the seconds in Retry-After."
KEY_REUSED = (
    f"This Idempotency-Key was used with another {' or '.join(['name', *OPTIONAL_TEXTS])}: "
    "send a new key with a new request."
)

_limit = OpenApiParameter(
    "limit",
    {"type": "integer", "minimum": 0, "default": DEFAULT_LIMIT, "example": 20},
    description=f"The most pets to return, from 0. Above {MAX_LIMIT} it is served as {MAX_LIMIT}.",
)
_after = OpenApiParameter(
    "after",
    ID_SCHEMA | {"example": REX["id"]},
    description="Return the pets after the one with this id. The `Link` header of a page holds it for the next.",
)
_pet_id = OpenApiParameter(
    "petId",
    {"type": "string", "minLength": 1, "example": REX["id"]},
    OpenApiParameter.PATH,
    description="The pet's `id`. Text that is no pet's id is not found.",
)
_idempotency_key = OpenApiParameter(
    "Idempotency-Key",
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[ -~]+$",
        "example": "8e03978e-40d5-43e8-bc93-6894a57f9324",
    },
    OpenApiParameter.HEADER,
    description="Makes the request safe to repeat: a text of your own making, for example a UUID, the same at every "
    "attempt to create this pet and at no other. For 24 hours the same key gives the first answer again.",
)

pets = extend_schema_view(
    list=extend_schema(
        operation_id="listPets",
        summary="List pets",
        description=f"Pets, oldest first, {DEFAULT_LIMIT} unless `limit` says otherwise. While there are more, the "
        "`Link` header holds the address of the next page; without it the page is the last.",
        tags=["Pets"],
        parameters=[
            _limit,
            _after,
            response_header(
                "Link",
                {
                    "type": "string",
                    "example": f'<https://pets.example.com/v1/pets?limit=20&after={REX["id"]}>; rel="next"',
                },
                'The next page, as `<address>; rel="next"` (RFC 8288), while there is one.',
                200,
                required=False,
            ),
            *standard_headers(200, 400, 401, 403, 429, 500),
        ],
        responses={
            200: OpenApiResponse(PetSerializer(many=True), description="A page of pets; empty if there are none."),
            **failures(
                *(400, 401, 403, 429, 500),
                messages={400: "limit must be a whole number from 0, for example ?limit=20; got 'ten'."},
            ),
        },
        examples=[example(REX, 200)],
    ),
    create=extend_schema(
        operation_id="createPet",
        summary="Create a pet",
        description="The service assigns the id. Members that it does not know are ignored. A repeated request creates "
        "another pet, unless both were sent with the same `Idempotency-Key`.",
        tags=["Pets"],
        request=CreatePetRequestSerializer,
        parameters=[
            _idempotency_key,
            response_header(
                "Location",
                {"type": "string", "example": f"https://pets.example.com/v1/pets/{REX['id']}"},
                "The address of the new pet.",
                201,
            ),
            response_header(
                "Idempotency-Replayed",
                {"type": "string", "enum": ["true"], "example": "true"},
                "`true` if this is the answer of an earlier request with the same `Idempotency-Key`, else absent.",
                201,
                required=False,
            ),
            retry_after(409),
            *standard_headers(201, 400, 401, 403, 409, 422, 429, 500),
        ],
        responses={
            201: OpenApiResponse(PetSerializer, description="The pet as created."),
            **failures(
                *(400, 401, 403, 409, 422, 429, 500),
                messages={
                    400: 'name is required: send a string, for example {"name": "Rex"}.',
                    403: "This API key may only read: use a key with read and write access.",
                    409: KEY_IN_USE,
                    422: KEY_REUSED,
                },
            ),
        },
        examples=[example({field: REX[field] for field in ("name", *OPTIONAL_TEXTS)}), example(REX, 201)],
    ),
    retrieve=extend_schema(
        operation_id="getPet",
        summary="Get a pet",
        description="One pet, by its identifier.",
        tags=["Pets"],
        parameters=[_pet_id, *standard_headers(200, 400, 401, 403, 404, 429, 500)],
        responses={
            200: OpenApiResponse(PetSerializer, description="The pet."),
            **failures(
                *(400, 401, 403, 404, 429, 500),
                messages={404: "No pet has the id '42': GET /v1/pets lists those that exist."},
            ),
        },
        examples=[example(REX, 200)],
    ),
)
