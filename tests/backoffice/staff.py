"""Test clients that are logged in as staff."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client


def staff(*group_names: str, **fields: object) -> Client:
    user = get_user_model().objects.create_user("someone", is_staff=True, **fields)
    for name in group_names:
        user.groups.add(Group.objects.get(name=name))
    client = Client()
    client.force_login(user)
    return client
