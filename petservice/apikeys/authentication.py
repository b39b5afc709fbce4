from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from petservice.apikeys import keys, usage
from petservice.apikeys.models import APIKey

HEADER = "X-API-Key"
UNKNOWN = f"The {HEADER} header holds no key that is known here: check that it was copied whole."


@dataclass(frozen=True)
class Client:
    """The holder of an API key, as `request.user`; `request.auth` is the key's record."""

    api_key: APIKey
    is_authenticated: bool = True

    @property
    def may_write(self) -> bool:
        return self.api_key.may_write


class APIKeyAuthentication(BaseAuthentication):
    """The key in the `X-API-Key` header, looked up at every request, so that revoking it is felt by the next."""

    def authenticate(self, request: Request) -> tuple[Client, APIKey] | None:
        """Who calls, None without a key; raises AuthenticationFailed, or PermissionDenied for another environment's."""
        plain = request.headers.get(HEADER)
        if plain is None:
            return None
        environment = keys.environment_of(plain)
        if environment is None:
            raise AuthenticationFailed(UNKNOWN)
        if environment != settings.ENVIRONMENT:
            raise PermissionDenied(
                f"This is a {environment} key, but this service accepts {settings.ENVIRONMENT} keys: use one of those."
            )
        api_key = APIKey.objects.for_plain_key(plain)
        if api_key is None:
            raise AuthenticationFailed(UNKNOWN)
        now = timezone.now()
        # Safe to say: only the holder of the true secret gets this far.
        if api_key.is_revoked:
            raise AuthenticationFailed("This API key has been revoked: ask for a new one.")
        if api_key.is_expired(now):
            raise AuthenticationFailed("This API key has expired: ask for a new one.")
        # Only after the key verified, so that a guess cannot mark it as used.
        usage.note_use(api_key, now)
        return Client(api_key), api_key

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
