"""A request of the API leaves nothing for Python's garbage collector, which interrupts the requests of all clients."""

import gc
import json
from collections.abc import Callable

import pytest
from django.test import RequestFactory

from pets.models import Pet
from petservice.handler import Handler

REX = {"name": "Rex", "tag": "dog"}


@pytest.fixture(scope="module")
def handler() -> Handler:
    return Handler()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path", "body", "has_key", "status"),
    [
        ("GET", "/v1/pets/{pet}", None, True, 200),
        ("GET", "/v1/pets/unknown", None, True, 404),
        ("GET", "/v1/pets?limit=2", None, True, 200),
        ("GET", "/v1/pets?limit=x", None, True, 400),
        ("GET", "/v1/pets", None, False, 401),
        ("DELETE", "/v1/pets", None, True, 404),
        ("POST", "/v1/pets", REX, True, 201),
        ("POST", "/v1/pets", {"name": 1}, True, 400),
        ("GET", "/v1/store/inventory", None, True, 200),
    ],
)
def test_request_leaves_no_garbage(
    handler: Handler,
    create_key: Callable[..., str],
    method: str,
    path: str,
    body: dict[str, object] | None,
    has_key: bool,
    status: int,
) -> None:
    path = path.format(pet=Pet.objects.create(name="Rex").pk)
    key = {"X-API-Key": create_key()} if has_key else {}

    def respond() -> int:
        factory = RequestFactory(headers=key)
        sent = "" if body is None else json.dumps(body)
        return handler.get_response(factory.generic(method, path, sent, "application/json")).status_code

    respond()  # the first request fills caches
    gc.disable()
    gc.freeze()  # The collection below visits only the objects that the next request creates.
    try:
        assert respond() == status
        assert gc.collect() == 0
    finally:
        gc.unfreeze()
        gc.enable()
