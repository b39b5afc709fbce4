"""Authentication of requests by API key."""

from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from petservice.api.readiness import readiness
from petservice.apikeys import keys
from petservice.apikeys.models import APIKey
from petservice.db.pending_migrations import BEING_UPDATED

HEADER = "X-API-Key"
CHALLENGE = f'ApiKey header="{HEADER}"'
UNKNOWN = "Unknown API key. Check that you copied the complete key."
UNKNOWN_KEY = "unknown_key"
# With the columns that requests need. The others would cost each request a twentieth of its time.
_KEYS = APIKey.objects.only(
    *("name", "prefix", "environment", "access", "requests_per_minute", "expires_at", "revoked_at")
)


class APIKeyAuthentication(BaseAuthentication):
    """An authentication by the key in the `X-API-Key` header.

    Each request looks the key up in the database, so a revoked key is rejected immediately.
    """

    def authenticate(self, request: Request) -> tuple[APIKey, APIKey] | None:
        """Return the key as both `request.user` and `request.auth`, or None without a key.

        Raises AuthenticationFailed for an invalid key, and PermissionDenied for a key of another environment.
        """
        plain = request.META.get("HTTP_X_API_KEY")
        if plain is None:
            return None
        # The lookup below needs the current tables.
        if readiness.has_pending_migrations():
            raise APIException(BEING_UPDATED)
        try:
            api_key: APIKey | None = _KEYS.get(digest=keys.digest(plain))
        except APIKey.DoesNotExist:
            api_key = None
        environment = keys.environment_of(plain) if api_key is None else api_key.environment
        if environment not in (None, settings.ENVIRONMENT):
            raise PermissionDenied(
                f"This is a {environment} key, but this service accepts only {settings.ENVIRONMENT} keys.",
                "key_of_other_environment",
            )
        if api_key is None:
            raise AuthenticationFailed(UNKNOWN, UNKNOWN_KEY)
        # The next two messages reveal nothing to others, because only the holder of the secret gets here.
        if api_key.is_revoked:
            raise AuthenticationFailed("This API key has been revoked: ask for a new one.", "revoked_key")
        if api_key.is_expired(timezone.now()):
            raise AuthenticationFailed("This API key has expired: ask for a new one.", "expired_key")
        return api_key, api_key

    def authenticate_header(self, request: Request) -> str:
        """Return the WWW-Authenticate challenge, without which REST framework responds 403 instead of 401."""
        return CHALLENGE


class APIKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[misc]  # untyped
    """The description of the authentication in the OpenAPI document."""

    target_class = APIKeyAuthentication
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": HEADER,
            "description": "An API key, `pets_<environment>_…`, from the service's staff. Send it over HTTPS only.",
        }
