"""Permission of authenticated clients and administrators to read and write."""

from typing import Any

from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from petservice.apikeys.authentication import HEADER
from petservice.apikeys.models import APIKey

KEY_IS_REQUIRED = f"The {HEADER} header with an API key is required."


class HasAccess(BasePermission):
    """A permission to read with any valid key, and to write with a read and write key.

    In the browsable API, which only development has, administrators may do everything.
    """

    message = "This API key may only read: use a key with read and write access."
    code = "read_only_key"

    def has_permission(self, request: Request, view: Any) -> bool:
        api_key: APIKey | None = request.auth  # type: ignore[assignment]  # the stubs know tokens only
        if api_key is not None:
            return request.method in SAFE_METHODS or api_key.access == APIKey.Access.READ_AND_WRITE
        if not request.user.is_authenticated:
            raise NotAuthenticated(KEY_IS_REQUIRED)
        if not request.user.is_superuser:
            raise PermissionDenied("Your account may not do this: log in as an administrator.")
        return True
