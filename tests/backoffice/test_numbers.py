"""The numbers on the lists of the admin."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse


@pytest.mark.django_db
def test_lists_write_numbers_with_separators(admin_client: Client) -> None:
    Group.objects.bulk_create(Group(name=f"Group {number}") for number in range(1200))

    page = admin_client.get(reverse("admin:auth_group_changelist"), {"q": "Group"}).content.decode()

    assert "1,200 groups" in page
    assert "1,200 results" in page
