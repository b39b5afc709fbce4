"""Who gets into the back office: frames, forged forms, and what people are told."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from pets.admin import PetAdmin
from tests.running.test_pages import POLICY, policy

pytestmark = pytest.mark.django_db

LOGIN = reverse("admin:login")
INDEX = reverse("admin:index")
ADD = reverse("admin:pets_pet_add")
PASSWORD = "a long one"


@pytest.fixture(autouse=True)
def ada(db: None) -> User:
    return User.objects.create_user("ada", password=PASSWORD, is_staff=True)


def assert_staff_page(response: HttpResponse, status: int, *words: str) -> None:
    page = response.content.decode()
    assert (response.status_code, response["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert policy(response) == POLICY
    assert "no-store" in response["Cache-Control"]
    assert "Pet service</a>" in page, "the admin's header"
    assert not re.search(r"<style|<script>|\sstyle=|\son\w+=|Traceback", page)
    for word in words:
        assert word in page


# Frames.


@pytest.mark.parametrize("address", [LOGIN, INDEX, ADD, "/", "/docs"])
def test_no_page_may_be_shown_in_a_frame(admin_client: Client, address: str) -> None:
    response = admin_client.get(address)

    assert response["X-Frame-Options"] == "DENY"
    assert policy(response)["frame-ancestors"] == "'none'"


# What staff see when something is refused or fails.


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


def test_a_form_that_is_not_in_utf_8_is_refused() -> None:
    body = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n\\ud800\r\n'
    form = "".join(body.format(name) for name in ("username", "password")) + "--x--\r\n"

    response = Client(raise_request_exception=False).post(
        LOGIN, form.encode(), content_type="multipart/form-data; boundary=x; charset=raw_unicode_escape"
    )

    assert_staff_page(response, 400, "This cannot be read")
