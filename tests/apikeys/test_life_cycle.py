"""The life cycle of API keys: changes hold immediately, secrets are not stored, and invalid keys are rejected."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from petservice.apikeys.models import APIKey
from tests.apikeys.forms import ADD, FORM, LIST, ROTATE, page_of, shown_key, status_with
from tests.backoffice.clock import Clock
from tests.service import Service

# So many requests on separate connections reach every worker process.
REQUESTS = 40


def statuses(service: Service, plain: str) -> list[int]:
    """Send many requests with a key, each on a new connection, and return their statuses."""
    headers = {"X-API-Key": plain, "Connection": "close"}
    with service.client() as client:
        return [client.get("/v1/pets", headers=headers).status_code for _ in range(REQUESTS)]


def test_a_new_key_works_and_an_ended_one_is_rejected_immediately_in_every_worker(service: Service) -> None:
    plain = service.create_key()
    assert statuses(service, plain) == [200] * REQUESTS

    for field, other in (("revoked_at", "expires_at"), ("expires_at", "revoked_at")):
        end = f"UPDATE apikeys_apikey SET {field} = %s, {other} = NULL WHERE prefix = %s"
        service.execute(end, timezone.now(), plain[:18])
        assert statuses(service, plain) == [401] * REQUESTS, field


def test_a_key_does_not_work_at_the_moment_at_which_it_expires(create_key: Callable[..., str], clock: Clock) -> None:
    assert status_with(create_key(expires_at=clock.now)) == 401


def test_no_plain_key_is_stored_or_shown_again_in_its_whole_life_cycle(
    admin_client: Client, run: Callable[..., tuple[str, str]]
) -> None:
    pages: list[Any] = []

    def staff(url: str, fields: Any = None) -> Any:
        pages.append(admin_client.get(url) if fields is None else admin_client.post(url, fields, follow=True))
        return pages[-1]

    # Staff and the command create keys, and clients use them, also for forbidden and invalid requests.
    writer = shown_key(staff(ADD, FORM | {"name": "Web shop"}))
    reader = shown_key(staff(ADD, FORM | {"name": "Report", "access": "read", "form_token": str(uuid4())}))
    output, errors = run("create_api_key", "Import")
    imported = output.strip()
    answers: list[Any] = []
    for plain, created in ((writer, 201), (reader, 403), (imported, 201), (writer[:-1], 401)):
        client = Client(headers={"X-API-Key": plain, "Idempotency-Key": "once"})
        answers.append(client.post("/v1/pets", {"name": "Rex"}, "application/json"))
        assert answers[-1].status_code == created
        answers += [client.get(path) for path in ("/v1/pets", "/v1/store/inventory", "/v1/pets/none", "/v1/none")]
        answers += [client.post("/v1/pets", "{", "application/json"), client.get("/v1/pets?limit=none")]

    # Staff find, change, rotate and revoke the keys.
    shop, report = APIKey.objects.get(name="Web shop"), APIKey.objects.get(name="Report")
    staff(f"{LIST}?q={writer[:18]}")
    staff(page_of(report), FORM | {"name": "Reports"})
    replacement = shown_key(staff(page_of(shop, "rotate"), ROTATE))
    staff(page_of(shop, "revoke"), {"post": "yes"})
    run("revoke_api_key", replacement)
    for url in (ADD, LIST, page_of(shop), page_of(shop, "history"), reverse("admin:index")):
        staff(url)
    assert [status_with(plain) for plain in (writer, replacement, reader)] == [401, 401, 200]

    stored, _ = run("dumpdata")
    for model in ("apikeys.apikey", "sessions.session", "journal.event", "pets.idempotencyrecord"):
        assert f'"{model}"' in stored
    places = {
        "tables": stored,
        "sessions": str([session.get_decoded() for session in Session.objects.all()]),
        "standard error": errors,
        "addresses and headers": "\n".join(f"{page.request['PATH_INFO']} {page.headers}" for page in pages + answers),
        "responses to the client": "\n".join(response.content.decode() for response in answers),
    }
    assert "_auth_user_id" in places["sessions"], "sessions are not decoded"
    waiting = [page.cookies["messages"].value for page in pages if "messages" in page.cookies]
    assert not any(waiting), "a message that no page has shown yet is in a cookie"
    for plain in (writer, reader, imported, replacement):
        for place, content in places.items():
            assert plain[18:] not in content, f"a secret is in {place}"
        assert sum(plain[18:] in page.content.decode() for page in pages) == (plain != imported), (
            "not shown exactly once"
        )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "value"),
    [("name", ""), ("environment", "prod"), ("access", "all"), ("requests_per_minute", 0), ("requests_per_minute", -1)],
)
def test_the_database_rejects_invalid_values(field: str, value: object) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")

    with pytest.raises(IntegrityError):
        APIKey.objects.filter(pk=api_key.pk).update(**{field: value})
