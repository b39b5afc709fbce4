"""Test clients that are logged in as staff."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

# As that of the account `admin`, which pytest-django makes.
PASSWORD = "password"


def logged_in(user: User, *, enforce_csrf_checks: bool = False) -> Client:
    client = Client(enforce_csrf_checks=enforce_csrf_checks)
    client.force_login(user)
    return client


def is_logged_in(client: Client) -> bool:
    return client.get("/admin/").status_code == 200


def staff(*group_names: str, name: str = "someone", **fields: object) -> Client:
    user = get_user_model().objects.create_user(name, is_staff=True, **fields)
    for group_name in group_names:
        user.groups.add(Group.objects.get(name=group_name))
    return logged_in(user)


def granted(*codenames: str, name: str = "someone") -> Client:
    """Return a client of staff with these permissions and no others."""
    client = staff(name=name)
    user = get_user_model().objects.get(username=name)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return client
