"""A link sets the password of its account once, within three days, and its token is stored and logged nowhere."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from petservice.accounts.models import PasswordLink
from petservice.configuration.time_zone import moment
from petservice.monitoring.logs import LineFormatter
from tests.accounts.pages import (
    ADD,
    LIST,
    NEW,
    NEW_PASSWORD,
    PASSWORDS,
    audit_of,
    link_in,
    new_account,
    new_link,
    page_of,
    use,
)
from tests.backoffice.clock import Clock
from tests.backoffice.login import LOGIN, PASSWORD, assert_staff_page, fail, log_in
from tests.backoffice.pages import fields_of, messages, read
from tests.backoffice.staff import logged_in, staff
from tests.concurrent_write import only_on_postgresql, write_before
from tests.sign_in.authenticator import MINUTE

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def opened(link: str) -> tuple[Client, str]:
    """Open a link in a new browser, and return the browser and the path of the form."""
    browser = Client()
    return browser, browser.get(link)["Location"]


def assert_useless(*responses: Any) -> None:
    for response in responses:
        assert_staff_page(response, 404, "This link does not work", "No password was changed", "ask an administrator")


def test_a_new_colleague_sets_the_password_with_the_link_and_logs_in(admin_client: Client) -> None:
    eve, link = new_account(admin_client)
    browser = Client()

    response = browser.get(link)
    assert (response.status_code, "no-store" in response["Cache-Control"]) == (302, True)
    form = browser.get(response["Location"])
    assert "<strong>eve</strong>" in form.content.decode()
    assert "You are logged in as" not in form.content.decode()
    sent = browser.post(response["Location"], PASSWORDS, follow=True)

    assert sent.redirect_chain == [(LOGIN, 302)]
    assert messages(sent) == ["The password of eve is set. Log in with it."]
    assert fields_of(sent, "login-form")["username"] == "eve"
    assert "Forgotten your password? Ask an administrator for a new link." in sent.content.decode()
    assert log_in(NEW_PASSWORD, name="eve").status_code == 302
    assert audit_of(eve) == [
        ("admin", "account_added", "Added. Role: Pets and inventory."),
        ("eve", "account_changed", "Password set with a link."),
    ]


def test_a_link_works_once_and_a_second_click_on_the_button_gets_a_page(admin_client: Client, ada: User) -> None:
    link = new_link(admin_client, ada)
    browser, form = opened(link)
    browser.handler.enforce_csrf_checks = True
    assert_staff_page(browser.post(form, PASSWORDS), 403, "This form was not accepted")
    browser.handler.enforce_csrf_checks = False
    browser.post(form, PASSWORDS)
    stolen = dict.fromkeys(PASSWORDS, "stolen by another")

    assert_useless(browser.post(form, stolen), browser.get(form), use(link))
    assert log_in(NEW_PASSWORD).status_code == 302


@only_on_postgresql
def test_two_people_with_the_same_link_cannot_both_set_a_password(admin_client: Client, ada: User) -> None:
    link = new_link(admin_client, ada)
    (browser, form), (another, other_form) = opened(link), opened(link)

    def post_too() -> None:
        assert_useless(another.post(other_form, dict.fromkeys(PASSWORDS, "another long one")))

    with write_before('UPDATE "auth_user"', post_too):
        assert browser.post(form, PASSWORDS).status_code == 302

    assert log_in(NEW_PASSWORD).status_code == 302


def test_the_page_of_an_account_says_that_its_link_works_for_three_days(admin_client: Client, ada: User) -> None:
    def description() -> str:
        return admin_client.get(page_of(ada)).content.decode().partition("field-link")[2].partition("</div>")[0]

    assert "none" in description()
    new_link(admin_client, ada)
    end = moment(PasswordLink.objects.get().created_at + timedelta(days=3))
    assert f"created by admin, works until a password is set, at most until {end}" in description()
    PasswordLink.objects.update(created_at=timezone.now() - timedelta(days=3))
    assert "expired at" in description()
    admin_client.post(page_of(ada, "deactivate"))
    assert "none" in description()


@pytest.mark.parametrize("end", ["three days", "another password", "a newer link", "a deactivation", "a deletion"])
def test_a_link_and_its_open_page_work_until(admin_client: Client, ada: User, settings: Any, end: str) -> None:
    link = new_link(admin_client, ada)
    assert log_in().status_code == 302, "the link has changed the password"
    browser, form = opened(link)  # a login does not end the link

    match end:
        case "three days":
            settings.PASSWORD_RESET_TIMEOUT = -1  # it expired a second ago
        case "another password":
            User.objects.update(password=make_password(PASSWORD))
        case "a newer link":
            newer = new_link(admin_client, ada)
        case "a deactivation":
            admin_client.post(page_of(ada, "deactivate"))
        case "a deletion":
            ada.delete()

    assert_useless(use(link), browser.post(form, PASSWORDS), browser.get(form))
    if end == "a newer link":
        use(newer)
        assert log_in(NEW_PASSWORD).status_code == 302


def test_a_link_that_is_mistyped_or_opened_without_cookies_gets_a_page(admin_client: Client, ada: User) -> None:
    link = new_link(admin_client, ada)
    _, form = opened(link)

    unknown = Client().get(link[:-3] + "/")
    of_nobody = Client().get(link.replace("set-password/", "set-password/x"))
    assert_useless(unknown, of_nobody, Client().post(form, PASSWORDS))
    assert "sessionid" not in unknown.cookies, "strangers fill the table of sessions"


def test_the_password_must_be_valid_and_nothing_is_changed_before(admin_client: Client, ada: User) -> None:
    link = new_link(admin_client, ada)

    for new, repeated, error in [
        (NEW_PASSWORD, "another long on", "match"),
        ("password", "password", "too common"),
    ]:
        response = use(link, new_password1=new, new_password2=repeated)
        assert error in response.content.decode()
    assert log_in().status_code == 302
    use(link)
    assert log_in(NEW_PASSWORD).status_code == 302


def test_a_password_set_by_link_unlocks_the_account_and_ends_its_sessions(admin_client: Client, ada: User) -> None:
    session = logged_in(ada)
    fail()
    assert log_in().status_code == 429

    use(new_link(admin_client, ada))

    assert log_in(NEW_PASSWORD).status_code == 302
    assert session.get(LIST).status_code == 302


def test_the_page_warns_a_person_who_is_logged_in_with_another_account(
    admin_client: Client, ada: User, clock: Clock
) -> None:
    form = admin_client.get(new_link(admin_client, ada))["Location"]
    page = admin_client.get(form).content.decode()
    assert "You are logged in as admin. This form sets the password of ada" in page

    response = admin_client.post(form, PASSWORDS, follow=True)

    assert "The password of ada is set. Log in with it." in messages(response)
    clock.advance(15 * MINUTE)
    asked = admin_client.post(page_of(ada, "link"))
    assert fields_of(asked, "login-form")["username"] == "admin", "the administrator is logged out, or taken for ada"


# Creation.


def test_a_form_that_is_sent_twice_creates_one_account_and_one_link(admin_client: Client) -> None:
    fields = read(admin_client, ADD, "account_form") | NEW
    first = admin_client.post(ADD, fields)

    second = admin_client.post(ADD, fields, follow=True)
    page = page_of(User.objects.get(username="eve"), "link")
    other = admin_client.post(page, fields, follow=True)

    assert staff().post(ADD, fields).status_code == 403, "the message names an account"
    for response in (second, other):
        assert "already submitted and created a password link for eve" in messages(response)[-1]
        assert "/admin/set-password/" not in response.content.decode()
    assert PasswordLink.objects.count() == 1
    assert use(link_in(first)).status_code == 200
    newer = admin_client.post(page, fields_of(admin_client.get(page), "account-action"))
    told = ["Earlier links of the account do not work any more." in one.content.decode() for one in (first, newer)]
    assert told == [False, True], "only a link that replaces others says so"


def test_a_form_without_its_token_creates_no_link(admin_client: Client, ada: User) -> None:
    for forged in ({}, {"form_token": "forged"}):
        response = admin_client.post(page_of(ada, "link"), forged)
        assert fields_of(response, "account-action")["form_token"]
        assert "correct" in admin_client.post(ADD, NEW | forged).content.decode()

    assert not PasswordLink.objects.exists()
    assert not User.objects.filter(username="eve").exists()


@only_on_postgresql
def test_of_two_accounts_added_at_the_same_time_with_names_that_differ_only_in_case_one_is_refused(
    admin_client: Client, admin_user: User
) -> None:
    another = logged_in(admin_user)
    fields, others = (read(client, ADD, "account_form") | NEW for client in (admin_client, another))

    with write_before('INSERT INTO "auth_user"', lambda: another.post(ADD, others | {"username": "EVE"})):
        admin_client.post(ADD, fields)

    assert {*User.objects.values_list("username", flat=True)} == {"admin", "eve"}
    assert PasswordLink.objects.count() == 1


@only_on_postgresql
def test_a_group_that_another_administrator_adds_at_the_same_time_is_an_error_of_the_form(admin_client: Client) -> None:
    with write_before("INSERT INTO", lambda: Group.objects.create(name="eve")):
        response = admin_client.post("/admin/auth/group/add/", {"name": "eve"})

    assert "already exists." in response.content.decode()


def test_the_token_is_only_in_the_page_that_shows_it(
    admin_client: Client, ada: User, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    link = new_link(admin_client, ada)
    token = link.rstrip("/").rpartition("/")[2]
    browser = Client()
    with caplog.at_level("DEBUG", logger="django.request"):
        redirect = browser.get(link)
        pages = [redirect, browser.get(redirect["Location"]), admin_client.get(page_of(ada)), use(link), use(link)]

    call_command("dumpdata", output=tmp_path / "dump.json", verbosity=0)
    stored = (tmp_path / "dump.json").read_text()
    assert '"accounts.passwordlink"' in stored
    for text in (stored, *(page.content.decode() + str(page.headers) for page in pages)):
        assert token not in text
    formatted = [LineFormatter().format(record) for record in caplog.records]
    assert token in caplog.text, "Django does not log the paths of failed requests any more"
    assert token not in str(formatted)
    assert pages[-1]["Referrer-Policy"] == "same-origin"
