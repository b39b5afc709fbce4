"""Forms that are sent after the session has ended, or while a second factor must be set up."""

import re
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.sign_in import kept_forms
from tests.backoffice.login import ADD, LOGIN, PASSWORD
from tests.backoffice.pages import fields_of, messages
from tests.sign_in.authenticator import log_in_again, send_again

pytestmark = [pytest.mark.django_db, pytest.mark.once]

NAME = 'Rex "<b>& Žofie'


@pytest.fixture
def browser(admin_user: User, ada: User) -> Client:
    """A browser that checks CSRF tokens, in which the administrator is logged in."""
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    browser = Client(enforce_csrf_checks=True)
    log_in(browser)
    return browser


def log_in(browser: Client, page: Any = None, name: str = "admin") -> Any:
    return log_in_again(browser, page or browser.get(LOGIN), PASSWORD, username=name)


def filled_in(browser: Client, **values: Any) -> dict[str, Any]:
    return fields_of(browser.get(ADD), "pet_form") | {"name": NAME, "tag": "dog", "_save": "Save"} | values


def sent_too_late(browser: Client, url: str = ADD, **values: Any) -> Any:
    """Fill in the form, send it after the end of the session, and return the response."""
    fields = filled_in(browser, **values)
    browser.cookies.pop("sessionid")
    return browser.post(url, fields)


def is_offered(response: Any) -> bool:
    return 'id="kept-form"' in response.content.decode()


def test_the_login_page_says_why_and_the_form_is_sent_again_with_one_click(browser: Client) -> None:
    url, of_list = f"{ADD}?_changelist_filters=q%3Drex", {"selection": "ids", "index": "0", "select_across": "0"}
    page = sent_too_late(browser, url, **of_list)
    text = page.content.decode()
    assert (page.status_code, "no-store" in page["Cache-Control"]) == (200, True)
    assert "Your session has ended, or you logged out in another window. Nothing was changed." in text
    assert "Log in with the same account, and you can send your form again." in text
    wrong = browser.post(LOGIN, fields_of(page, "login-form") | {"username": "admin", "password": "wrong"})
    offer = log_in(browser, wrong)
    assert (is_offered(offer), "no-store" in offer["Cache-Control"], Pet.objects.exists()) == (True, True, False)
    shown = re.findall('<th scope="row">([a-z_]+)</th><td><bdi>([^<]*)</bdi>', offer.content.decode())
    assert dict(shown) == {"name": "Rex &quot;&lt;b&gt;&amp; Žofie", "tag": "dog", "status": "available"}
    assert "Files and passwords are not kept" not in offer.content.decode()
    reloaded = log_in(browser, wrong)
    assert is_offered(reloaded), "reloading the page after the login loses the form"
    sent = send_again(browser, reloaded)

    assert sent.status_code == 302
    assert list(Pet.objects.values_list("name", "tag")) == [(NAME, "dog")]


def test_a_form_from_before_a_logout_and_a_login_in_another_window_is_kept_and_accepted(browser: Client) -> None:
    fields = filled_in(browser)
    browser.post(reverse("admin:logout"), fields)

    assert is_offered(log_in(browser, browser.post(ADD, fields)))

    assert browser.post(ADD, fields).status_code == 302
    assert Pet.objects.get().name == NAME


def test_a_login_replaces_a_security_token_that_is_not_from_a_login_of_its_account(admin_user: User, ada: User) -> None:
    for earlier in ([], ["ada"]):
        browser = Client(enforce_csrf_checks=True)
        for name in earlier:
            log_in(browser, name=name)
        planted = fields_of(Client().get(LOGIN), "login-form")["csrfmiddlewaretoken"]
        browser.cookies["csrftoken"] = planted
        end = browser.post(LOGIN, {"username": "admin", "password": PASSWORD, "csrfmiddlewaretoken": planted})

        assert end.status_code == 302
        assert browser.post(ADD, {"name": "Rex", "csrfmiddlewaretoken": planted}).status_code == 403


def test_another_account_does_not_send_the_form(browser: Client) -> None:
    fields = filled_in(browser)
    browser.cookies.pop("sessionid")
    page = browser.post(ADD, fields)

    other = log_in(browser, page, name="ada")

    assert (other.status_code, other["Location"]) == (302, ADD)
    shown = browser.get(ADD)
    assert messages(shown) == [
        "The form from before the login was not sent: it is another account's, or older than a day."
    ]
    assert NAME not in shown.content.decode()
    refused = browser.post(ADD, fields)
    assert (refused.status_code, is_offered(refused)) == (403, False)
    assert not Pet.objects.exists()


@pytest.mark.parametrize(("hours", "is_kept"), [(23, True), (25, False)])
def test_a_form_is_kept_for_a_day(browser: Client, monkeypatch: pytest.MonkeyPatch, hours: int, is_kept: bool) -> None:
    page = sent_too_late(browser)
    later = time.time() + hours * 3600
    monkeypatch.setattr(time, "time", lambda: later)

    assert is_offered(log_in(browser, page)) == is_kept


def test_a_stranger_cannot_prepare_a_form_for_an_account(browser: Client) -> None:
    stranger = Client(enforce_csrf_checks=True)
    token = fields_of(stranger.get(LOGIN), "login-form")["csrfmiddlewaretoken"]
    page = stranger.post(ADD, {"name": "Rex", "csrfmiddlewaretoken": token})
    kept = fields_of(page, "login-form")["kept_form"]
    browser.cookies.pop("sessionid")

    login_page = browser.get(LOGIN)
    fields = fields_of(login_page, "login-form") | {"username": "admin", "password": PASSWORD, "kept_form": kept}
    for form in (kept, "forged", kept[:-1] + ("a" if kept[-1] != "a" else "b")):
        assert not is_offered(browser.post(LOGIN, fields | {"kept_form": form}))


def test_files_and_passwords_are_not_kept(browser: Client) -> None:
    page = sent_too_late(browser, password1="secret one", a_file=SimpleUploadedFile("pets.csv", b"name\nRex"))

    offer = log_in(browser, page)

    assert "Files and passwords are not kept" in offer.content.decode()
    sent = fields_of(offer, "kept-form")
    assert sent["name"] == NAME
    assert not {"password1", "a_file"} & set(sent)


def test_a_form_above_the_limit_is_not_kept_and_the_page_says_so(browser: Client) -> None:
    page = sent_too_late(browser, tag="".join(f"{number:x}" for number in range(20_000)))

    assert "Your form is too large to be kept." in page.content.decode()
    assert log_in(browser, page)["Location"] == ADD


def test_what_is_kept_fits_into_the_limit_for_strangers() -> None:
    from petservice.server.limits import MAX_FORM_BYTES

    assert kept_forms.MAX_LENGTH + 8 * 1024 < MAX_FORM_BYTES


def test_strangers_and_empty_posts_are_sent_to_the_login_as_before() -> None:
    assert Client().post(ADD)["Location"] == f"{LOGIN}?next={ADD}"
    assert "Log in to continue." in Client().get(ADD, follow=True).content.decode()
    assert "Log in to continue." not in Client().get(LOGIN).content.decode()
