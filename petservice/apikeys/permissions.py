"""Whether a known client may do what it asks for."""

from typing import TYPE_CHECKING

from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from petservice.apikeys.authentication import HEADER, Client
from petservice.apikeys.models import APIKey

if TYPE_CHECKING:
    # REST framework's views import this module in turn, by the settings.
    from rest_framework.views import APIView


class HasAccess(BasePermission):
    """Lets a known client read, and write if its key may."""

    message = "This API key may only read: use a key with read and write access."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        client: Client | None = request.auth  # type: ignore[assignment]  # the stubs know tokens only
        if client is not None:
            return request.method in SAFE_METHODS or client.access == APIKey.Access.READ_AND_WRITE
        # A member of staff (the browsable API) has no key.
        if not request.user.is_authenticated:
            raise NotAuthenticated(f"The {HEADER} header with an API key is required.")
        return True
