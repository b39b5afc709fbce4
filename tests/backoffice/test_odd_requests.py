"""Values in URLs and forms that no page of the admin sends."""

import re
from itertools import product

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import reverse

from pets.models import Pet
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


# The status of each URL below the dashboard.
ODD_URLS = {
    # An unknown order is the usual one.
    f"pets/pet/?o={DIGITS}": 200,
    "pets/pet/?o=-0001": 200,
    "pets/pet/?name__regex=(a%2B)%2B$": 400,
    "pets/pet/?id=1": 400,
    "pets/pet/x/change/?_to_field=": 400,
    "auth/group/1/change/?_to_field=": 400,
    # Lists have the conditions of their filters and no others, such as on secrets.
    "accounts/account/?state=active": 200,
    "accounts/account/?password__startswith=md5": 400,
    "auth/user/?groups__id__exact=1": 200,
    "auth/user/?username__contains=%00": 400,
    "auth/group/?name__regex=(": 400,
    "pets/recentchange/?message__regex=(": 400,
    "pets/trashedpet/?record_name__regex=(": 400,
    "apikeys/apikey/?environment__exact=test&access__exact=read": 200,
    "apikeys/apikey/?use=nonsense": 200,
    "apikeys/apikey/?digest__startswith=0": 400,
    "apikeys/apikey/?expires_at__year=99999": 400,
    "apikeys/apikey/add/?expires_at=soon": 200,
}


def test_odd_urls_are_no_errors_of_the_service(client: Client) -> None:
    assert {url: client.get(reverse("admin:index") + url).status_code for url in ODD_URLS} == ODD_URLS

    for url in ("pets/pet/?o=%00", "pets/pet/?status__exact=%00", "pets/pet/%00/history/"):
        assert client.get(reverse("admin:index") + url).status_code < 500, url
    id_of_another_type = f"/admin/r/{ContentType.objects.get_for_model(Pet).pk}/1/"
    assert client.get(id_of_another_type).status_code == 400


def test_a_search_for_a_pasted_text_of_thousands_of_words_finds_nothing(client: Client) -> None:
    for page in ("accounts_account", "auth_user", "auth_group", "apikeys_apikey"):
        response = client.get(reverse(f"admin:{page}_changelist"), {"q": "ab " * 2000})
        assert (response.status_code, response.context["cl"].result_count) == (200, 0), page


def test_a_selected_row_with_an_invalid_key_is_a_bad_request_that_changes_nothing(client: Client) -> None:
    actions = {"pets_pet": "mark_as_sold", "pets_trashedpet": "put_back_selected"}
    actions |= {"apikeys_apikey": "revoke_selected", "auth_group": "delete_selected"}
    for page, action in actions.items():
        for key in (DIGITS, "9" * 30, "-1", "²", "x", ""):
            fields = {"action": action, "index": 0, "_selected_action": [key]}
            response = client.post(reverse(f"admin:{page}_changelist"), fields)
            assert response.status_code == 400, (page, key[:30])


def test_an_action_on_no_pets_is_no_error(client: Client) -> None:
    url = reverse("admin:pets_pet_changelist")
    other = str(create_pet(name="Rex").pk)
    for action in ("set_tag", "mark_as_sold", "delete_selected"):
        for query, fields in (("?q=none", {"select_across": "1"}), ("", {"selection": " ", "_selected_action": other})):
            response = client.post(url + query, {"action": action, "index": "0"} | fields, follow=True)
            assert response.status_code == 200, action


def test_an_id_with_a_line_break_or_of_thousands_of_digits_is_no_error_of_the_server(client: Client) -> None:
    pk = User.objects.get().pk
    APIKey.objects.create_key(name="First", pk=pk)
    Group.objects.update_or_create(pk=pk, defaults={"name": "First"})
    for route in (route.decode() for route in ADMIN_ROUTES if b"<" in route):
        for id_, send in product(("a%0Ab", f"{pk}%0A", DIGITS), (client.get, client.post)):
            assert send(re.sub("<[^>]*>", id_, route)).status_code < 500, route
