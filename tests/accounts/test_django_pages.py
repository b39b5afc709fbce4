"""Django's pages of users give groups and permissions, and nothing else."""

from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

from petservice.accounts import groups
from tests.accounts.pages import audit_of, page_of
from tests.backoffice.pages import submit

pytestmark = [pytest.mark.django_db, pytest.mark.once]

LIST = reverse("admin:auth_user_changelist")


def user_page(user: User, verb: str = "change") -> str:
    return reverse(f"admin:auth_user_{verb}", args=[user.pk])


def test_a_user_is_neither_added_nor_deleted_nor_given_a_password(admin_client: Client, ada: User) -> None:
    forms = {
        reverse("admin:auth_user_add"): {"username": "eve"},
        user_page(ada, "delete"): {"post": "yes"},
        LIST: {"action": "delete_selected", "_selected_action": [ada.pk], "post": "yes"},
        f"{LIST}{ada.pk}/password/": {"password1": "another long one", "password2": "another long one"},
    }

    responses = [admin_client.post(url, form, follow=True) for url, form in forms.items()]

    assert [response.status_code for response in responses[:2]] == [403, 403]
    assert User.objects.get(pk=ada.pk).password == ada.password
    assert User.objects.count() == 2


def test_the_page_of_a_user_reads_all_permissions_together(
    admin_client: Client, ada: User, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(15):
        admin_client.get(user_page(ada))


def test_the_page_of_a_user_does_not_say_how_to_type_the_name_that_it_only_shows(
    admin_client: Client, ada: User
) -> None:
    assert "150 characters" not in admin_client.get(user_page(ada)).content.decode()


def test_the_page_of_a_user_changes_only_groups_and_permissions(admin_client: Client, admin_user: User) -> None:
    before = User.objects.filter(pk=admin_user.pk).values()[0]
    permission = Permission.objects.get(codename="view_pet")
    forged = {"username": "eve", "password": "x", "is_active": "", "is_staff": "", "is_superuser": ""}

    submit(admin_client, user_page(admin_user), "user_form", forged | {"user_permissions": [permission.pk]})

    assert User.objects.filter(pk=admin_user.pk).values()[0] == before
    assert [*admin_user.user_permissions.all()] == [permission]


def test_both_histories_of_an_account_show_the_changes_of_all_pages(admin_client: Client, ada: User) -> None:
    pets = Group.objects.get(name=groups.PETS_AND_INVENTORY)
    keys = Group.objects.get(name=groups.PETS_INVENTORY_AND_KEYS)
    ada.groups.set([pets])
    assert f'href="{page_of(ada)}"' in admin_client.get(user_page(ada)).content.decode()

    submit(admin_client, user_page(ada), "user_form", {"groups": [keys.pk]})
    admin_client.post(page_of(ada, "deactivate"))

    for url in (user_page(ada, "history"), page_of(ada, "history")):
        page = unescape(admin_client.get(url).content.decode())
        assert f"Groups: added “{keys}”, removed “{pets}”." in page
        assert "Deactivated. All sessions ended." in page
    assert [kind for _, kind, _ in audit_of(ada)] == ["account_changed"] * 2
