"""Permissions of staff in the browsable API, also for methods that no operation has yet."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from pets.models import Pet
from petservice.apikeys.permissions import HasAccess

RIGHTS = {"GET": "view", "POST": "add", "PUT": "change", "PATCH": "change", "DELETE": "delete"}


@pytest.mark.once
@pytest.mark.django_db
@pytest.mark.parametrize("right", ["view", "add", "change", "delete"])
def test_staff_need_the_permission_of_the_admin_for_each_method(right: str) -> None:
    user = get_user_model().objects.create_user("someone", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename=f"{right}_pet"))
    view = SimpleNamespace(queryset=Pet.objects.all())
    for method, needed in RIGHTS.items():
        request: Any = Request(APIRequestFactory().generic(method, "/v1/pets"))
        request._user, request._auth = user, None

        if right == needed or (method, right) == ("GET", "change"):  # a user who may change may view
            assert HasAccess().has_permission(request, view)
        else:
            with pytest.raises(PermissionDenied):
                HasAccess().has_permission(request, view)
