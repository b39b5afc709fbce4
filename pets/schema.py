"""How the OpenAPI document describes the pets' operations."""

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view

from pets.serializers import CreatePetRequestSerializer, PetSerializer
from petservice.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from petservice.api.schema import failures, response_header, standard_headers

EXAMPLE_PET = {"id": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "Rex", "tag": "dog"}

_limit = OpenApiParameter(
    "limit",
    {"type": "integer", "minimum": 0, "default": DEFAULT_LIMIT},
    description=f"Maximum number of pets to return; above {MAX_LIMIT} as {MAX_LIMIT}.",
)
_after = OpenApiParameter(
    "after",
    {"type": "string", "format": "uuid"},
    description="Return the pets after the one with this id. Follow the `Link` header rather than making this up.",
)
_idempotency_key = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="Makes a repeated request safe: within 24 hours the same key gives the first answer again.",
)

pets = extend_schema_view(
    list=extend_schema(
        operation_id="listPets",
        summary="List pets",
        description="Pets, oldest first. While there are more, the `Link` header leads to the next page.",
        tags=["Pets"],
        parameters=[
            _limit,
            _after,
            response_header("Link", 'The next page, as `<…>; rel="next"` (RFC 8288), while there is one.', 200),
            *standard_headers(200, 400, 401, 403, 500),
        ],
        responses={
            200: OpenApiResponse(PetSerializer(many=True), description="A page of pets."),
            **failures(400, 401, 403, 500),
        },
        examples=[OpenApiExample("A page of pets", value=EXAMPLE_PET, response_only=True, status_codes=["200"])],
    ),
    create=extend_schema(
        operation_id="createPet",
        summary="Create a pet",
        description="The service assigns the id. A repeated request creates another pet, unless it is sent with the "
        "same `Idempotency-Key`.",
        tags=["Pets"],
        request=CreatePetRequestSerializer,
        parameters=[
            _idempotency_key,
            response_header("Location", "The address of the new pet.", 201),
            response_header("Idempotency-Replayed", "`true` when this is the answer of an earlier request.", 201),
            response_header("Retry-After", "Seconds to wait before trying again.", 409),
            *standard_headers(201, 400, 401, 403, 409, 422, 500),
        ],
        responses={
            201: OpenApiResponse(PetSerializer, description="The pet as created."),
            **failures(400, 401, 403, 409, 422, 500),
        },
        examples=[
            OpenApiExample("A dog", value={"name": "Rex", "tag": "dog"}, request_only=True),
            OpenApiExample("The new pet", value=EXAMPLE_PET, response_only=True, status_codes=["201"]),
        ],
    ),
    retrieve=extend_schema(
        operation_id="getPet",
        summary="Get a pet",
        description="One pet, by its identifier.",
        tags=["Pets"],
        parameters=[
            OpenApiParameter(
                "petId",
                {"type": "string"},
                OpenApiParameter.PATH,
                description="Identifier of the pet.",
                examples=[OpenApiExample("An id", value=EXAMPLE_PET["id"])],
            ),
            *standard_headers(200, 401, 403, 404, 500),
        ],
        responses={200: OpenApiResponse(PetSerializer, description="The pet."), **failures(401, 403, 404, 500)},
        examples=[OpenApiExample("A pet", value=EXAMPLE_PET, response_only=True, status_codes=["200"])],
    ),
)
