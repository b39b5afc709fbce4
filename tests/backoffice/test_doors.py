"""Who gets into the back office: guesses at passwords, cookies, frames, forged forms, and what people are told."""

import re
import threading
from datetime import timedelta
from io import StringIO
from typing import Any

import httpx
import pytest
from axes.models import AccessAttempt
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pets.admin.pages import PetAdmin
from pets.models import Pet
from petservice.monitoring.logs import RequestIDFilter
from tests.databases import migrated_database_url
from tests.running.test_pages import POLICY, policy
from tests.service import Service, running_service

pytestmark = pytest.mark.django_db

LOGIN = reverse("admin:login")
INDEX = reverse("admin:index")
ADD = reverse("admin:pets_pet_add")
PASSWORD = "a long one"
HERE, ELSEWHERE = "192.0.2.7", "192.0.2.8"
LIMIT = 5


@pytest.fixture(autouse=True)
def ada(db: None) -> User:
    return User.objects.create_user("ada", password=PASSWORD, is_staff=True)


def log_in(
    password: str = PASSWORD, *, name: str = "ada", address: str = HERE, browser: str = "Any/1", **sent: str
) -> HttpResponse:
    client = Client(REMOTE_ADDR=address, raise_request_exception=False, headers={"User-Agent": browser})
    return client.post(f"{LOGIN}?next={INDEX}", {"username": name, "password": password, **sent})


def is_let_in(response: HttpResponse) -> bool:
    return (response.status_code, response.headers.get("Location")) == (302, INDEX)


def fail(times: int = LIMIT, **login: Any) -> HttpResponse:
    """The answer to the last of `times` wrong passwords."""
    return [log_in(f"guess {number}", **login) for number in range(times)][-1]


def let_time_pass(time: timedelta) -> None:
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - time)


def assert_staff_page(response: HttpResponse, status: int, *words: str) -> None:
    page = response.content.decode()
    assert (response.status_code, response["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert policy(response) == POLICY
    assert "no-store" in response["Cache-Control"]
    assert "Pet service</a>" in page, "the admin's header"
    assert not re.search(r"<style|<script>|\sstyle=|\son\w+=|Traceback", page)
    for word in words:
        assert word in page


# The lock-out.


def test_the_sixth_attempt_is_refused_even_with_the_right_password() -> None:
    assert is_let_in(log_in())
    assert fail(LIMIT - 1).status_code == 200

    assert fail(1).status_code == 429
    assert log_in().status_code == 429


def test_four_failures_leave_a_fifth_attempt() -> None:
    fail(LIMIT - 1)

    assert is_let_in(log_in())


def test_a_lock_out_is_of_one_account_from_one_address() -> None:
    User.objects.create_user("Ada", password=PASSWORD, is_staff=True)
    fail()

    assert is_let_in(log_in(name="Ada"))
    assert is_let_in(log_in(address=ELSEWHERE))
    assert log_in().status_code == 429


def test_after_a_quarter_of_an_hour_it_works_again() -> None:
    fail()

    let_time_pass(timedelta(minutes=14, seconds=50))
    assert log_in().status_code == 429

    let_time_pass(timedelta(seconds=10))
    assert is_let_in(log_in())


def test_attempts_during_a_lock_out_do_not_prolong_it() -> None:
    fail()
    let_time_pass(timedelta(minutes=10))
    fail()
    let_time_pass(timedelta(minutes=5))

    assert is_let_in(log_in())


def test_failures_that_are_long_ago_do_not_count() -> None:
    fail(LIMIT - 1)
    let_time_pass(timedelta(minutes=15))

    assert fail(LIMIT - 1).status_code == 200


def test_logging_in_resets_the_count() -> None:
    fail(LIMIT - 1)
    log_in()

    assert fail(LIMIT - 1).status_code == 200
    assert AccessAttempt.objects.get().failures_since_start == LIMIT - 1


def test_another_browser_is_no_other_client() -> None:
    for number in range(LIMIT):
        fail(1, browser=f"Other/{number}")

    assert log_in().status_code == 429
    assert AccessAttempt.objects.count() == 1


def test_addresses_of_one_ipv6_network_are_one() -> None:
    for number in range(LIMIT):
        fail(1, address=f"2001:db8:1:2::{number}")

    assert log_in(address="2001:db8:1:2:ffff::").status_code == 429
    assert is_let_in(log_in(address="2001:db8:1:3::"))


def test_clients_whose_address_nobody_tells_are_one() -> None:
    assert fail(address="").status_code == 429
    assert AccessAttempt.objects.get().ip_address == "0.0.0.0"
    assert is_let_in(log_in())


@pytest.mark.django_db(transaction=True)
def test_failures_at_once_are_all_counted() -> None:
    start = threading.Barrier(LIMIT)

    def attempt() -> None:
        start.wait()
        try:
            fail(1)
        finally:
            connection.close()

    threads = [threading.Thread(target=attempt) for _ in range(LIMIT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert AccessAttempt.objects.get().failures_since_start == LIMIT
    assert log_in().status_code == 429


@pytest.mark.parametrize(
    ("command", "unlocked"),
    [
        (["axes_reset"], {("ada", HERE), ("bob", HERE), ("ada", ELSEWHERE)}),
        (["axes_reset_username", "ada"], {("ada", HERE), ("ada", ELSEWHERE)}),
        (["axes_reset_ip", HERE], {("ada", HERE), ("bob", HERE)}),
        (["axes_reset_ip_username", HERE, "ada"], {("ada", HERE)}),
    ],
)
def test_a_command_unlocks(command: list[str], unlocked: set[tuple[str, str]]) -> None:
    User.objects.create_user("bob", password=PASSWORD, is_staff=True)
    pairs = [("ada", HERE), ("bob", HERE), ("ada", ELSEWHERE)]
    for name, address in pairs:
        fail(name=name, address=address)

    call_command(*command, stdout=StringIO())

    assert {(name, address) for name, address in pairs if is_let_in(log_in(name=name, address=address))} == unlocked


# What a locked-out person is told.


def test_the_page_tells_when_to_try_again(settings: LazySettings) -> None:
    fail()
    let_time_pass(timedelta(minutes=3, seconds=30))

    response = log_in()

    end = AccessAttempt.objects.get().attempt_time + settings.AXES_COOLOFF_TIME + timedelta(seconds=1)
    told = f"Try again in 12 minutes, at {timezone.localtime(end):%H:%M:%S} UTC."
    assert_staff_page(response, 429, "Too many failed logins", told, "can unlock the account")
    assert 11 * 60 < int(response["Retry-After"]) <= 11.5 * 60 + 1


def test_when_the_time_that_was_told_is_over_it_works() -> None:
    wait = int(fail()["Retry-After"])

    let_time_pass(timedelta(seconds=wait))

    assert is_let_in(log_in())


def test_one_minute_is_not_minutes() -> None:
    fail()
    let_time_pass(timedelta(minutes=14, seconds=30))

    assert "Try again in 1 minute, at " in log_in().content.decode()


def test_the_page_does_not_tell_whether_there_is_such_an_account_or_the_password_is_right() -> None:
    fail(name="ada")
    fail(name="nobody")
    AccessAttempt.objects.update(attempt_time=timezone.now())

    known, right, unknown = log_in("guess"), log_in(), log_in(name="nobody")

    texts = [re.sub(r"\d\d:\d\d:\d\d", "", response.content.decode()) for response in (known, right, unknown)]
    assert texts[0] == texts[1] == texts[2]
    assert {response.status_code for response in (known, right, unknown)} == {429}


# What is kept and logged of an attempt.


def stored() -> str:
    return str(list(AccessAttempt.objects.values()))


def test_nothing_that_was_typed_is_kept_or_logged_save_the_name(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(RequestIDFilter())
    with caplog.at_level("INFO", logger="petservice"):
        for _ in range(LIMIT + 1):
            log_in("Tr0ub4dor&3", passwd="s3cret too", csrfmiddlewaretoken="t0ken" * 8, next="/admin/?q=k3y")

    assert "'username': 'ada'" in stored()
    for secret in ("Tr0ub4dor", "s3cret", "t0ken", "k3y"):
        assert secret not in stored() + caplog.text
    assert "ada" not in caplog.text, "a name may be a password in the wrong field"
    assert "Locking out" in caplog.text
    assert HERE in caplog.text


def test_a_success_and_the_way_to_it_leave_no_record() -> None:
    fail(1)
    log_in()

    for model in ("accessattempt", "accesslog", "accessfailurelog", "accessattemptexpiration"):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM axes_{model}")
            assert cursor.fetchone() == (0,)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "ada\n2026-01-01 CRITICAL all is lost", "%s {0} $x", "狗🐶"]
)
def test_an_odd_name_is_counted_like_any_other(name: str, caplog: pytest.LogCaptureFixture) -> None:
    answers = [log_in(name=name) for _ in range(LIMIT)]

    assert [answer.status_code for answer in answers] == [200] * (LIMIT - 1) + [429]
    assert "<script>alert" not in "".join(answer.content.decode() for answer in answers)
    assert AccessAttempt.objects.get().username == name
    assert not any("\n" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("x" * 10_000, "No account has a name of more than 150 characters."),
        ("ﷺ" * 150, "No account has a name of more than 150 characters."),  # one of these is 18 when normalised
        ("a\0da", "Null characters are not allowed."),
        ("", "This field is required."),
    ],
    ids=["long", "longer than it looks", "NUL", "empty"],
)
def test_a_name_that_no_account_has_is_refused_by_the_form(name: str, sentence: str) -> None:
    response = log_in(name=name)

    assert response.status_code == 200
    assert sentence in response.content.decode()
    assert not AccessAttempt.objects.exists()


def test_a_form_that_is_not_in_utf_8_is_refused() -> None:
    body = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n\\ud800\r\n'
    form = "".join(body.format(name) for name in ("username", "password")) + "--x--\r\n"

    response = Client(raise_request_exception=False).post(
        LOGIN, form.encode(), content_type="multipart/form-data; boundary=x; charset=raw_unicode_escape"
    )

    assert_staff_page(response, 400, "This cannot be read")


# A running service: the address behind a proxy, and the cookies where HTTPS is required.


@pytest.mark.once
def test_behind_a_proxy_the_right_address_is_used_and_a_made_up_one_is_not(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The test is the proxy: it connects from the loopback address, which is believed by default."""
    folder = tmp_path_factory.mktemp("doors")
    with (
        migrated_database_url(folder) as url,
        running_service(folder, DATABASE_URL=url, PETSERVICE_REQUIRE_HTTPS="1") as service,
    ):
        service.create_staff("ada", PASSWORD)

        for number in range(LIMIT):
            _log_in(service, f"guess {number}", forwarded_for=f"203.0.113.{number}, {HERE}")

        assert _log_in(service, PASSWORD, forwarded_for=f"203.0.113.99, {HERE}").status_code == 429
        attempts = service.execute("SELECT ip_address, username, failures_since_start FROM axes_accessattempt")
        assert attempts == [(HERE, "ada", LIMIT)]
        let_in = _log_in(service, PASSWORD, forwarded_for=f"{HERE}, {ELSEWHERE}")
        assert let_in.status_code == 302
        assert_guarded(let_in.headers.get_list("Set-Cookie"), {"sessionid", "csrftoken"}, secure=True)
        assert let_in.headers["Cross-Origin-Opener-Policy"] == "same-origin"


def _log_in(service: Service, password: str, *, forwarded_for: str) -> httpx.Response:
    with service.client() as client:
        client.headers = {"X-Forwarded-For": forwarded_for, "X-Forwarded-Proto": "https"}
        page = client.get(LOGIN)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
        # The client would not send a Secure cookie back over HTTP; between browser and proxy it is HTTPS.
        headers = {
            "Cookie": f"csrftoken={page.cookies['csrftoken']}",
            "Origin": service.url.replace("http://", "https://"),
        }
        form = {"username": "ada", "password": password, "csrfmiddlewaretoken": token}
        return client.post(f"{LOGIN}?next={INDEX}", data=form, headers=headers)


def assert_guarded(cookies: list[str], names: set[str], *, secure: bool) -> None:
    assert {cookie.partition("=")[0] for cookie in cookies} == names
    for cookie in cookies:
        attributes = cookie.split("; ")
        assert "HttpOnly" in attributes
        assert "SameSite=Lax" in attributes
        assert ("Secure" in attributes) is secure


def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites() -> None:
    client = Client(enforce_csrf_checks=True)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(LOGIN).content.decode())[1]

    response = client.post(LOGIN, {"username": "ada", "password": PASSWORD, "csrfmiddlewaretoken": token})

    cookies = [morsel.OutputString() for morsel in response.cookies.values()]
    assert_guarded(cookies, {"sessionid", "csrftoken"}, secure=False)
    assert "Cross-Origin-Opener-Policy" not in response


@pytest.mark.parametrize("address", [LOGIN, INDEX, ADD, "/", "/docs"])
def test_no_page_may_be_shown_in_a_frame(admin_client: Client, address: str) -> None:
    response = admin_client.get(address)

    assert response["X-Frame-Options"] == "DENY"
    assert policy(response)["frame-ancestors"] == "'none'"


def test_requests_with_a_key_ask_no_database_about_logins(api: Client, django_assert_num_queries: Any) -> None:
    api.get("/v1/pets")

    with django_assert_num_queries(2) as queries:
        assert api.get("/v1/pets").status_code == 200

    assert "axes" not in str(queries.captured_queries)


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
