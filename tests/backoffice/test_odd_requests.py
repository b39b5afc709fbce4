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


@pytest.fixture
def client() -> Client:
    return staff(is_superuser=True)


def test_an_unknown_order_shows_the_usual_one(client: Client) -> None:
    for order in (DIGITS, "-0001", "%00"):
        assert client.get(f"{reverse('admin:pets_pet_changelist')}?o={order}").status_code == 200


def test_an_invalid_regular_expression_in_the_url_of_a_list_is_a_bad_request(client: Client) -> None:
    fields = {
        **{"accounts_account": "username", "auth_user": "username", "auth_group": "name"},
        **{"pets_recentchange": "message", "pets_trashedpet": "record_name"},
    }
    for page, field in fields.items():
        response = client.get(reverse(f"admin:{page}_changelist"), {f"{field}__regex": "("})
        assert response.status_code == 400, page


def test_a_search_for_a_pasted_text_of_thousands_of_words_finds_nothing(client: Client) -> None:
    for page in ("accounts_account", "auth_user", "auth_group", "apikeys_apikey"):
        response = client.get(reverse(f"admin:{page}_changelist"), {"q": "ab " * 2000})
        assert (response.status_code, response.context["cl"].result_count) == (200, 0), page


def test_lists_have_the_conditions_of_their_filters_and_none_on_secrets(client: Client) -> None:
    for page, name, value, status in (
        ("accounts_account", "password__startswith", "md5", 400),
        ("accounts_account", "state", "active", 200),
        ("auth_user", "groups__id__exact", "1", 200),
        ("apikeys_apikey", "digest__startswith", "0", 400),
        ("apikeys_apikey", "environment__exact", "test", 200),
        ("apikeys_apikey", "use", "nonsense", 200),
    ):
        response = client.get(reverse(f"admin:{page}_changelist"), {name: value})
        assert response.status_code == status, (page, name)


def test_a_selected_row_with_an_invalid_key_is_a_bad_request_that_changes_nothing(client: Client) -> None:
    actions = {"pets_pet": "mark_as_sold", "pets_trashedpet": "put_back_selected"}
    actions |= {"apikeys_apikey": "revoke_selected", "auth_group": "delete_selected"}
    for page, action in actions.items():
        for key in (DIGITS, "9" * 30, "-1", "²", "x", ""):
            fields = {"action": action, "index": 0, "_selected_action": [key]}
            response = client.post(reverse(f"admin:{page}_changelist"), fields)
            assert response.status_code == 400, (page, key[:30])


def test_an_account_with_an_id_of_thousands_of_digits_does_not_exist(client: Client) -> None:
    response = client.post(reverse("admin:accounts_account_change", args=[DIGITS]))

    assert response.status_code in (302, 400)


def test_an_action_on_no_pets_is_no_error(client: Client) -> None:
    url = reverse("admin:pets_pet_changelist")
    other = str(create_pet(name="Rex").pk)
    for action in ("set_tag", "mark_as_sold", "delete_selected"):
        for query, fields in (("?q=none", {"select_across": "1"}), ("", {"selection": " ", "_selected_action": other})):
            response = client.post(url + query, {"action": action, "index": "0"} | fields, follow=True)
            assert response.status_code == 200, action


def test_an_id_with_a_line_break_is_no_error_of_the_server(client: Client) -> None:
    pk = User.objects.get().pk
    APIKey.objects.create_key(name="First", pk=pk)
    Group.objects.update_or_create(pk=pk, defaults={"name": "First"})
    for route in (route.decode() for route in ADMIN_ROUTES if b"<" in route):
        for id_, send in (("a%0Ab", client.get), (f"{pk}%0A", client.get), (f"{pk}%0A", client.post)):
            assert send(re.sub("<[^>]*>", id_, route)).status_code < 500, route
