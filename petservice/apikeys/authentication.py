"""Who calls: the API key of a request, or the session of a member of staff in the browsable API."""

from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from petservice.apikeys import keys, usage
from petservice.apikeys.models import APIKey
from petservice.db.compiled import CompiledQuery
from petservice.db.pending_migrations import BEING_UPDATED, pending_migrations

HEADER = "X-API-Key"
UNKNOWN = "Unknown API key. Check that you copied the complete key."


class Client(NamedTuple):
    """The holder of an API key, as `request.user`, and what is known of the key, as `request.auth`."""

    id: int  # of the key's record
    name: str
    prefix: str
    environment: str
    access: str
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    requests_per_minute: int | None

    @property
    def is_authenticated(self) -> bool:
        return True


_BY_DIGEST = CompiledQuery(lambda digest: APIKey.objects.filter(digest=digest).values_list(*Client._fields), "digest")


def _client(plain: str) -> Client | None:
    for row in _BY_DIGEST.rows(keys.digest(plain)):
        return Client._make(row)
    return None


class APIKeyAuthentication(BaseAuthentication):
    """The key in the `X-API-Key` header, looked up at every request, so that revoking it is felt by the next."""

    def authenticate(self, request: Request) -> tuple[Client, Client] | None:
        """Who calls, None without a key; raises AuthenticationFailed, or PermissionDenied for another environment's."""
        plain = request.META.get("HTTP_X_API_KEY")
        if plain is None:
            return None
        # What comes after needs the database.
        if pending_migrations.may_exist and pending_migrations.count():
            raise APIException(BEING_UPDATED)
        client = _client(plain)
        environment = keys.environment_of(plain) if client is None else client.environment
        if environment not in (None, settings.ENVIRONMENT):
            raise PermissionDenied(
                f"This is a {environment} key, but this service accepts only {settings.ENVIRONMENT} keys."
            )
        if client is None:
            raise AuthenticationFailed(UNKNOWN)
        now = timezone.now()
        # Safe to say: only the holder of the true secret gets this far.
        if client.revoked_at is not None:
            raise AuthenticationFailed("This API key has been revoked: ask for a new one.")
        if client.expires_at is not None and client.expires_at <= now:
            raise AuthenticationFailed("This API key has expired: ask for a new one.")
        # Only after the key verified, so that a guess cannot mark it as used.
        if client.last_used_at is None or client.last_used_at <= now - usage.RESOLUTION:
            usage.record_use(client.id, now)
        return client, client

    def authenticate_header(self, request: Request) -> str:
        """The challenge; without one REST framework turns 401 into 403."""
        return f'ApiKey header="{HEADER}"'


class StaffSessionAuthentication(SessionAuthentication):
    """Staff who are logged in to the admin, for the browsable API."""

    def authenticate(self, request: Request) -> tuple[object, None] | None:
        result: tuple[object, None] | None = super().authenticate(request)
        if result is None or not getattr(result[0], "is_staff", False):
            return None
        return result
