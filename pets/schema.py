"""How the OpenAPI document describes the pets' operations."""

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view

from pets.fields import OPTIONAL_TEXTS
from pets.serializers import CreatePetRequestSerializer, PetSerializer
from petservice.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from petservice.api.schema import STANDARD_HEADERS, example, failures, response_header
from petservice.api.serializers import ID_SCHEMA
from petservice.apikeys.permissions import HasAccess

REX = {"id": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "Rex", "tag": "dog"}
EXAMPLE_BODY = {field: REX[field] for field in ("name", *OPTIONAL_TEXTS)}
# The error messages for an Idempotency-Key that cannot be used.
KEY_IN_USE = (
    "A request with this Idempotency-Key is still running. Retry after the number of seconds in the Retry-After header."
)
KEY_REUSED = (
    f"This Idempotency-Key was used with another {' or '.join(['name', *OPTIONAL_TEXTS])}: "
    "send a new key with a new request."
)

# Not the serializer, because drf-spectacular would make a component of its list.
_PET_OF_A_LIST = {"$ref": "#/components/schemas/Pet"}

_limit = OpenApiParameter(
    "limit",
    {"type": "integer", "minimum": 0, "default": DEFAULT_LIMIT, "example": 20},
    description=f"Maximum number of pets to return. Values above {MAX_LIMIT} are treated as {MAX_LIMIT}.",
)
# Programs that import the document send its examples, or its defaults. So those of `after` are before the ID of every
# pet. The example of the key is a variable: Postman and Bruno replace it by a new UUID in each request.
_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"
_after = OpenApiParameter(
    "after",
    ID_SCHEMA | {"default": _BEFORE_ALL, "example": _BEFORE_ALL},
    description="Return pets after this ID: that of the last pet seen. The URL in the `Link` header has it already.",
)
_pet_id = OpenApiParameter(
    "petId",
    {"type": "string", "minLength": 1, "example": REX["id"]},
    OpenApiParameter.PATH,
    description="The `id` of a pet, from the response that listed or created it. Any other value returns 404.",
)
_idempotency_key = OpenApiParameter(
    "Idempotency-Key",
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[ -~]{1,255}$",
        "example": "{{$guid}}",
    },
    OpenApiParameter.HEADER,
    description="A unique value, for example a UUID. Repeating the request with the same key and pet within 24 "
    "hours returns the original response and creates nothing. Use another value for each pet.",
)

pets = extend_schema_view(
    list=extend_schema(
        operation_id="listPets",
        summary="List pets",
        description=f"Returns pets, oldest first: {DEFAULT_LIMIT} unless `limit` says otherwise. While there are "
        "more, the `Link` header has the URL of the next page. The last page has no `Link` header.",
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
                'The next page, as `<URL>; rel="next"` (RFC 8288). Absent on the last page.',
                200,
                required=False,
            ),
            *STANDARD_HEADERS,
        ],
        responses={
            200: OpenApiResponse(_PET_OF_A_LIST, description="A page of pets; empty if there are none."),
            **failures(
                *(400, 401, 403, 429, 500),
                messages={400: "limit must be an integer of 0 or more, for example ?limit=20; got 'ten'."},
            ),
        },
        examples=[example(REX, 200)],
    ),
    create=extend_schema(
        operation_id="createPet",
        summary="Create a pet",
        description="The service assigns the ID. Unknown fields are ignored. A repeated request creates another pet, "
        "unless both requests have the same `Idempotency-Key`.",
        tags=["Pets"],
        request=CreatePetRequestSerializer,
        parameters=[
            _idempotency_key,
            response_header(
                "Location",
                {"type": "string", "example": f"https://pets.example.com/v1/pets/{REX['id']}"},
                "The URL of the new pet.",
                201,
            ),
            response_header(
                "Idempotency-Replayed",
                {"type": "string", "enum": ["true"], "example": "true"},
                "`true` if this is the response to an earlier request with the same `Idempotency-Key`; else absent.",
                201,
                required=False,
            ),
            *STANDARD_HEADERS,
        ],
        responses={
            201: OpenApiResponse(PetSerializer, description="The pet as created."),
            **failures(
                *(400, 401, 403, 409, 422, 429, 500),
                messages={
                    400: 'name is required: send a string, for example {"name": "Rex"}.',
                    403: HasAccess.message,
                    409: KEY_IN_USE,
                    422: KEY_REUSED,
                },
            ),
        },
        examples=[example(EXAMPLE_BODY), example(REX, 201)],
    ),
    retrieve=extend_schema(
        operation_id="getPet",
        summary="Get a pet",
        description="Returns one pet by its ID.",
        tags=["Pets"],
        parameters=[_pet_id, *STANDARD_HEADERS],
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
