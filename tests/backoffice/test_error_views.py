"""The pages that staff see when a request is rejected or fails."""

import pytest
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.urls import reverse

from pets.admin.pages import PetAdmin
from pets.models import Pet
from tests.backoffice.login import ADD, INDEX, LOGIN, PASSWORD, assert_staff_page

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]


def test_a_page_without_the_permission_says_so_and_whom_to_ask(client: Client, ada: User) -> None:
    client.force_login(ada)

    response = client.get(ADD)

    assert_staff_page(response, 403, "You may not do this", "ask an administrator", "Log out", f'href="{INDEX}"')


def test_a_forged_form_says_so(admin_user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)

    assert_staff_page(client.post(ADD, {"name": "Rex"}), 403, "This form was not accepted", "send the form once more")


def test_a_login_form_of_another_time_says_so() -> None:
    response = Client(enforce_csrf_checks=True).post(LOGIN, {"username": "ada", "password": PASSWORD})

    assert_staff_page(response, 403, "This form was not accepted")


@pytest.mark.parametrize(
    "address",
    [
        "pets/pet/?status__exact=%00",
        "pets/pet/%00/history/",
        "apikeys/apikey/?access__exact=%00",
        "apikeys/apikey/?name__regex=(",
        "apikeys/apikey/?expires_at__year=99999",
        "apikeys/apikey/?digest__startswith=0",
        "apikeys/apikey/add/?expires_at=soon",
        "auth/user/?username__contains=%00",
    ],
)
def test_an_address_that_cannot_be_meant_is_no_failure_of_the_service(admin_client: Client, address: str) -> None:
    assert admin_client.get(reverse("admin:index") + address).status_code < 500


def test_a_look_up_of_what_has_another_kind_of_id_is_no_failure_of_the_service(admin_client: Client) -> None:
    of_pets = ContentType.objects.get_for_model(Pet).pk

    assert admin_client.get(f"/admin/r/{of_pets}/1/").status_code == 400


def test_a_forged_choice_of_rows_changes_nothing_and_says_so(admin_client: Client) -> None:
    forged = {"action": "mark_as_sold", "_selected_action": ["nonsense"]}

    response = admin_client.post(reverse("admin:pets_pet_changelist"), forged)

    assert response.status_code == 400
    assert "Nothing was changed" in response.content.decode()


@pytest.mark.parametrize("address", ["nope", "pets/nope/", "pets/pet/1/2", "%00", "<b>", "x" * 5000])
def test_an_unknown_address_of_the_back_office_says_so(admin_client: Client, address: str) -> None:
    assert_staff_page(admin_client.get(f"{INDEX}{address}"), 404, "There is no such page", "Log out")


def test_a_form_of_too_many_fields_says_so(admin_client: Client) -> None:
    response = admin_client.post(ADD, {f"field-{number}": "" for number in range(2000)})

    assert_staff_page(response, 400, "This cannot be read", "Nothing was changed")


def crash(*args: object, **kwargs: object) -> None:
    raise RuntimeError("the planted cause")


@pytest.mark.parametrize(
    ("owner", "name"), [(PetAdmin, "get_queryset"), (connection, "cursor")], ids=["page", "database"]
)
def test_a_crash_says_by_which_number_it_is_found(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    admin_client.raise_request_exception = False
    monkeypatch.setattr(owner, name, crash)

    response = admin_client.get(reverse("admin:pets_pet_changelist"), headers={"X-Request-ID": "number-7"})

    assert_staff_page(response, 500, "Something went wrong", "number-7")
    assert "planted" not in response.content.decode()


@pytest.mark.parametrize("address", ["/v1/nope", "/nope", "/static/nope", "/administration"])
def test_elsewhere_failures_are_for_programs(client: Client, address: str) -> None:
    response = client.get(address)

    assert (response.status_code, response["Content-Type"]) == (404, "application/json")


def test_typing_the_address_of_the_logout_leads_to_the_front_page_and_logs_nobody_out(admin_client: Client) -> None:
    response = admin_client.get(reverse("admin:logout"))

    assert (response.status_code, response["Location"]) == (302, INDEX)
    assert admin_client.get(INDEX).status_code == 200
