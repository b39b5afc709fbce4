"""Permission of authenticated clients and staff to read and write."""

from typing import Any

from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from petservice.apikeys.authentication import HEADER
from petservice.apikeys.models import APIKey

KEY_IS_REQUIRED = f"The {HEADER} header with an API key is required."
# The permissions of Django, one of which staff need for each method in the browsable API. All other methods read.
_STAFF_RIGHTS = {"POST": ("add",), "PUT": ("change",), "PATCH": ("change",), "DELETE": ("delete",)}


class HasAccess(BasePermission):
    """A permission to read with any valid key, and to write with a read and write key.

    In the browsable API, staff have the permissions that they have in the admin.
    """

    message = "This API key may only read: use a key with read and write access."
    code = "read_only_key"

    def has_permission(self, request: Request, view: Any) -> bool:
        api_key: APIKey | None = request.auth  # type: ignore[assignment]  # the stubs know tokens only
        if api_key is not None:
            return request.method in SAFE_METHODS or api_key.access == APIKey.Access.READ_AND_WRITE
        if not request.user.is_authenticated:
            raise NotAuthenticated(KEY_IS_REQUIRED)
        # This is a member of staff in the browsable API.
        model = view.queryset.model._meta
        rights = _STAFF_RIGHTS.get(request.method or "", ("view", "change"))
        if not any(request.user.has_perm(f"{model.app_label}.{right}_{model.model_name}") for right in rights):
            raise PermissionDenied("Your account may not do this: ask an administrator for the permission.")
        return True
