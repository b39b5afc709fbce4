from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from tests.pets.admin.import_export.import_pages import MakeStaff


@pytest.fixture
def make_staff(db: None, django_user_model: Any) -> MakeStaff:
    """Return a function that creates a member of staff with these permissions on pets and returns a client."""

    def make(*permissions: str, username: str = "jo") -> Client:
        user = django_user_model.objects.create_user(username, is_staff=True)
        user.user_permissions.set(
            Permission.objects.filter(codename__in=[f"{permission}_pet" for permission in permissions])
        )
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def staff(make_staff: MakeStaff) -> Client:
    return make_staff("view", "add", "change")
