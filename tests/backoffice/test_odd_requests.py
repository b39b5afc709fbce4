"""Values in URLs and forms that no page of the admin sends."""

import re

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from pets.services import create_pet
from petservice.apikeys.models import APIKey
from tests.backoffice.staff import staff
from tests.server.generated import ADMIN_ROUTES

# PostgreSQL rejects more values than SQLite.
pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql")]

# Python converts no text of so many digits to a number.
DIGITS = "9" * 5000
ACCOUNTS = reverse("admin:accounts_account_changelist")


@pytest.fixture
def client() -> Client:
    return staff(is_superuser=True)


@pytest.mark.parametrize(
    "url",
    [
        f"{reverse('admin:pets_pet_changelist')}?o={DIGITS}",
        f"{reverse('admin:pets_pet_changelist')}?o=-0001",
        f"{reverse('admin:pets_pet_changelist')}?o=%00",
    ],
)
def test_an_unknown_order_shows_the_usual_one(client: Client, url: str) -> None:
    assert client.get(url).status_code == 200


@pytest.mark.parametrize(
    "page", ["accounts_account", "auth_user", "auth_group", "pets_recentchange", "pets_trashedpet"]
)
def test_an_invalid_regular_expression_in_the_url_of_a_list_is_a_bad_request(client: Client, page: str) -> None:
    name = {"pets_recentchange": "message", "auth_group": "name", "pets_trashedpet": "record_name"}.get(
        page, "username"
    )
    create_pet(name="Rex")

    response = client.get(reverse(f"admin:{page}_changelist"), {f"{name}__regex": "("})

    assert response.status_code == 400


@pytest.mark.parametrize("page", ["accounts_account", "auth_user", "auth_group", "apikeys_apikey"])
def test_a_search_for_a_pasted_text_of_thousands_of_words_finds_nothing(client: Client, page: str) -> None:
    response = client.get(reverse(f"admin:{page}_changelist"), {"q": "ab " * 2000})

    assert response.status_code == 200
    assert response.context["cl"].result_count == 0


def test_the_list_of_accounts_has_no_condition_on_passwords(client: Client) -> None:
    User.objects.create_user("ada", password="a long one")

    assert client.get(ACCOUNTS, {"password__startswith": "md5"}).status_code == 400
    assert client.get(ACCOUNTS, {"state": "active"}).status_code == 200
    assert client.get(reverse("admin:auth_user_changelist"), {"groups__id__exact": "1"}).status_code == 200


def test_an_account_with_an_id_of_thousands_of_digits_does_not_exist(client: Client) -> None:
    response = client.post(reverse("admin:accounts_account_change", args=[DIGITS]))

    assert response.status_code in (302, 400)


@pytest.mark.parametrize("action", ["set_tag", "rename_tag", "remove_tag", "mark_as_sold", "delete_selected"])
def test_an_action_on_no_pets_is_no_error(client: Client, action: str) -> None:
    url = reverse("admin:pets_pet_changelist")
    other = str(create_pet(name="Rex").pk)
    for query, fields in (("?q=none", {"select_across": "1"}), ("", {"selection": " ", "_selected_action": other})):
        response = client.post(url + query, {"action": action, "index": "0"} | fields, follow=True)

        assert response.status_code == 200


@pytest.mark.once(on="postgresql")  # because only PostgreSQL rejects values that are not of the type of a column
@pytest.mark.parametrize("route", [route.decode() for route in ADMIN_ROUTES if b"<" in route])
def test_an_id_with_a_line_break_is_no_error_of_the_server(client: Client, route: str) -> None:
    pk = User.objects.get().pk
    APIKey.objects.create_key(name="First", pk=pk)
    Group.objects.update_or_create(pk=pk, defaults={"name": "First"})
    for id_ in ("a%0Ab", f"{pk}%0A"):
        for method in (client.get, client.post):
            assert method(re.sub("<[^>]*>", id_, route)).status_code < 500
