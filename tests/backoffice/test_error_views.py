"""The pages that staff see when a request is rejected or fails, and values that no page sends."""

import re
import sys
from itertools import product
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.urls import reverse

from pets.admin.pages import PetAdmin
from pets.models import Pet
from petservice.apikeys.models import APIKey
from tests.backoffice.login import ADD, INDEX, LOGIN, assert_staff_page
from tests.backoffice.staff import logged_in, staff
from tests.server.generated import ADMIN_ROUTES

# PostgreSQL rejects more values than SQLite.
pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql"), pytest.mark.usefixtures("ada")]


def test_a_page_without_permission_says_so_and_whom_to_ask() -> None:
    response = staff().get(ADD)

    assert_staff_page(response, 403, "Permission denied", "ask an administrator", "Log out", f'href="{INDEX}"')


def test_a_form_of_another_origin_is_rejected_with_the_causes(
    admin_user: User, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://testserver:444"]
    client = logged_in(admin_user, enforce_csrf_checks=True)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(ADD).content.decode())[1]

    sent: dict[str, str]
    for sent in (
        {"Origin": "null"},  # from behind a proxy that sets Referrer-Policy: no-referrer
        {"Origin": "https://pets.example.com", "Host": "testserver:8000"},  # a proxy without Host
        {"Referer": "https://pets.example.com/"},
        {},
    ):
        caplog.clear()
        response = client.post(ADD, {"name": "Rex", "csrfmiddlewaretoken": token}, secure=True, headers=sent)

        causes = ("Referrer-Policy", "Host", "CSRF_TRUSTED_ORIGINS")
        assert_staff_page(response, 403, "The origin of this form was refused", "Nothing was changed", *causes)
        (line,) = (record.getMessage() for record in caplog.records if record.name == "django.security.csrf")
        assert sent.get("Origin", sent.get("Referer", "no Referer")) in line
        assert not Pet.objects.exists()


def test_an_unknown_url_in_the_admin_is_a_page_not_found(admin_client: Client) -> None:
    for url in ("nope", "pets/nope/", "%00", "<b>", "x" * 5000):
        assert_staff_page(admin_client.get(f"{INDEX}{url}"), 404, "Page not found", "Log out")


def test_a_form_with_too_many_fields_is_rejected_with_an_explanation(admin_client: Client) -> None:
    response = admin_client.post(ADD, {f"field-{number}": "" for number in range(2000)})

    assert_staff_page(response, 400, "The request could not be processed", "address or the form", "Nothing was changed")


@pytest.mark.parametrize(
    ("owner", "name"), [(PetAdmin, "get_queryset"), (connection, "cursor")], ids=["page", "database"]
)
def test_the_page_for_a_server_error_shows_the_request_id(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    admin_client.raise_request_exception = False
    monkeypatch.setattr(owner, name, Mock(side_effect=RuntimeError("the internal cause")))

    response = admin_client.get(reverse("admin:pets_pet_changelist"), headers={"X-Request-ID": "number-7"})

    assert_staff_page(response, 500, "Something went wrong", "number-7")
    assert "internal cause" not in response.content.decode()


def test_a_text_that_is_not_in_utf_8_is_rejected_outside_the_admin_as_well(client: Client) -> None:
    for charset in ("latin-1", "rot13", "cp037", "undefined", "nonsense"):
        response = client.get("/docs", CONTENT_TYPE=f"text/html; charset={charset}")
        assert (response.status_code, response["Content-Type"]) == (400, "application/json"), charset
        rejected = client.get(LOGIN, CONTENT_TYPE=f"text/html; charset={charset}")
        assert_staff_page(rejected, 400, "The request could not be processed")
    part = '--x\r\nContent-Disposition: form-data; name="username"\r\n\r\n\\ud800\r\n--x--\r\n'
    form = client.post(LOGIN, part, content_type="multipart/form-data; boundary=x; charset=raw_unicode_escape")
    assert_staff_page(form, 400, "The request could not be processed")


def test_a_form_whose_headers_cannot_be_parsed_is_rejected(client: Client) -> None:
    for parameter in ("x*=nonsense''a", "x*=undefined''%41", "x*=idna''%ff", "x*1*;x*"):
        part = f'--x\r\nContent-Disposition: form-data; name="username"; {parameter}\r\n\r\nada\r\n--x--\r\n'

        of_the_request = client.post(LOGIN, part, content_type=f"multipart/form-data; boundary=x; {parameter}")
        of_a_part = client.post(LOGIN, part, content_type="multipart/form-data; boundary=x")

        if parameter != "x*1*;x*" or sys.version_info < (3, 13):  # which parses it
            assert_staff_page(of_the_request, 400, "The request could not be processed")
        assert of_a_part.status_code < 500, parameter
        assert client.get(LOGIN, CONTENT_TYPE=f"text/plain; {parameter}").status_code == 200, parameter


# Values in URLs and forms that no page of the admin sends.

# Python converts no text of so many digits to a number.
DIGITS = "9" * 5000


# The status of each URL below the dashboard, or where it leads.
ODD_URLS: dict[str, object] = {
    # Only a form logs out, and apps have no pages of their own.
    **dict.fromkeys(("logout/", "pets/", "apikeys/", "auth/"), INDEX),
    # A typed URL may lack its last slash.
    "pets/pet?q=rex": f"{INDEX}pets/pet/?q=rex",
    # An unknown order is the usual one.
    f"pets/pet/?o={DIGITS}": 200,
    "pets/pet/?name__regex=(a%2B)%2B$": 400,
    "pets/pet/x/change/?_to_field=": 400,
    # Lists have the conditions of their filters and no others, such as on secrets.
    "accounts/account/?state=active": 200,
    "accounts/account/?password__startswith=md5": 400,
    "auth/user/?groups__id__exact=1": 200,
    "auth/user/?groups__isnull=True": 200,
    "apikeys/apikey/?environment__exact=test&access__exact=read": 200,
    "apikeys/apikey/?use=nonsense": 200,
    "apikeys/apikey/?digest__startswith=0": 400,
    "apikeys/apikey/add/?expires_at=soon": 200,
    # A pasted text of thousands of words.
    **{f"{page}/?q={'ab+' * 2000}": 200 for page in ("accounts/account", "auth/user", "auth/group", "apikeys/apikey")},
}


def test_odd_urls_are_no_errors_of_the_service(admin_client: Client) -> None:
    responses = {url: admin_client.get(INDEX + url) for url in ODD_URLS}
    assert {url: one.headers.get("Location", one.status_code) for url, one in responses.items()} == ODD_URLS

    for url in ("pets/pet/?o=%00", "pets/pet/?status__exact=%00", "pets/pet/%00/history/"):
        assert admin_client.get(INDEX + url).status_code < 500, url
    id_of_another_type = f"/admin/r/{ContentType.objects.get_for_model(Pet).pk}/1/"
    assert admin_client.get(id_of_another_type).status_code == 400


def test_a_selected_row_with_an_invalid_key_is_a_bad_request_that_changes_nothing(admin_client: Client) -> None:
    actions = {"pets_pet": "mark_as_sold", "pets_trashedpet": "put_back_selected"}
    actions |= {"apikeys_apikey": "revoke_selected", "auth_group": "delete_selected"}
    for page, action in actions.items():
        other = "1" if page == "pets_pet" else "01a21be6-9ac9-732d-a4cf-035b5d6f2801"  # that of another model
        for key in (DIGITS, "9" * 30, "-1", "²", "x", "", other):
            fields = {"action": action, "index": 0, "_selected_action": [key]}
            status = admin_client.post(reverse(f"admin:{page}_changelist"), fields).status_code
            # A number that no row has finds nothing, as a row that someone has deleted.
            assert status == 400 or (key in ("9" * 30, "-1") and status < 500), (page, key[:30])


def test_an_id_with_a_line_break_or_of_thousands_of_digits_is_no_error_of_the_server(admin_client: Client) -> None:
    pk = User.objects.get(username="admin").pk
    APIKey.objects.create_key(name="First", pk=pk)
    Group.objects.update_or_create(pk=pk, defaults={"name": "First"})
    for route in (route.decode() for route in ADMIN_ROUTES if b"<" in route):
        for id_, send in product(("a%0Ab", f"{pk}%0A", DIGITS), (admin_client.get, admin_client.post)):
            assert send(re.sub("<[^>]*>", id_, route)).status_code < 500, route
