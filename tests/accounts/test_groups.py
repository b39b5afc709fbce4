"""The groups that a migration creates."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType

from petservice.accounts.groups import PETS_AND_INVENTORY, create_groups


@pytest.mark.once
@pytest.mark.django_db
def test_a_missing_group_is_created_without_the_permissions_of_other_apps() -> None:
    created = {*Group.objects.get(name=PETS_AND_INVENTORY).permissions.values_list("pk", flat=True)}
    Group.objects.get(name=PETS_AND_INVENTORY).delete()
    other = ContentType.objects.create(app_label="removed", model="pet")
    Permission.objects.create(content_type=other, codename="view_pet", name="Can view pet")

    create_groups(apps.get_app_config("accounts"), "default")

    assert len(created) == 6
    assert {*Group.objects.get(name=PETS_AND_INVENTORY).permissions.values_list("pk", flat=True)} == created
