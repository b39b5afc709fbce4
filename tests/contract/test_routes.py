"""Every route under /v1 is in the contract and requires an API key, except the health check."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver


def routes(patterns: list[Any], prefix: str = "/") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route, pattern
        else:
            yield from routes(pattern.url_patterns, route)


API = {route: pattern for route, pattern in routes(get_resolver().url_patterns) if route.startswith("/v1")}


def test_the_api_has_exactly_the_paths_of_the_contract() -> None:
    assert sorted(API) == ["/v1/health", "/v1/pets", "/v1/pets/<str:petId>", "/v1/store/inventory"]


@pytest.mark.parametrize("route", sorted(API.keys() - {"/v1/health"}))
def test_every_route_but_health_requires_an_api_key(route: str) -> None:
    for method in list(API[route].callback.actions):  # type: ignore[attr-defined]
        response = Client().generic(method.upper(), route)

        assert response.status_code == 401, method
        assert response["WWW-Authenticate"]
