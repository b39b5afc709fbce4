"""The security scheme of the OpenAPI document."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from petservice.apikeys.authentication import HEADER


class APIKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[misc]  # untyped
    target_class = "petservice.apikeys.authentication.APIKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": HEADER,
            "description": "An API key, `pets_<environment>_…`, from the service's operator. Send it over HTTPS only.",
        }
