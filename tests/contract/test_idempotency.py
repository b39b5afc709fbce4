"""Repeated POST requests with the same Idempotency-Key create one pet and get the same response."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from operator import attrgetter
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone

from pets import services
from pets.models import IdempotencyRecord, Pet
from petservice.apikeys.models import APIKey
from tests.concurrent_write import only_on_postgresql
from tests.contract.rows.row import TYPE, WRITE
from tests.contract.transports import Reply, SocketTransport
from tests.service import Service
from tests.waiting import wait_until

REX = {"name": "Rex", "tag": "dog"}
PERIOD = timedelta(hours=24)


def create(client: Client, body: Any = REX, key: str = "key") -> Any:
    return client.post("/v1/pets", body, content_type="application/json", headers={"Idempotency-Key": key})


@pytest.mark.parametrize("body", [REX, {"name": "Tom"}])
def test_repeated_request_gets_the_first_response_even_if_the_pet_was_renamed_or_deleted(
    api: Client, body: dict[str, str]
) -> None:
    first, again = create(api, body), create(api, body)
    assert Pet.objects.update(name="Max", tag=None) == 1
    renamed = create(api, body)
    Pet.objects.all().delete()
    deleted = create(api, body)

    assert "Idempotency-Replayed" not in first
    for response in (first, again, renamed, deleted):
        assert (response.status_code, response.json()) == (201, {"id": first.json()["id"]} | body)
        assert response["Location"] == first["Location"]
        assert response is first or response["Idempotency-Replayed"] == "true"
    assert not Pet.objects.exists()


def test_clients_do_not_share_idempotency_keys_which_are_case_sensitive(
    api: Client, create_key: Callable[..., str]
) -> None:
    created = [create(api), create(Client(headers={"X-API-Key": create_key()})), create(api, key="Key")]

    assert [response.status_code for response in created] == [201] * 3
    assert len({response.json()["id"] for response in created}) == 3


def test_another_body_is_rejected_and_the_same_pet_in_different_json_is_the_same_body(api: Client) -> None:
    first = create(api)

    for other in ({"name": "Tom", "tag": "dog"}, {"name": "Rex", "tag": "cat"}, {"name": "Rex"}):
        response = create(api, other)
        assert (response.status_code, response.json()["error"]["code"]) == (422, "unprocessable_content"), other
    bodies = [
        '{"tag":"dog","name":"Rex"}',
        ' {"name": "R\\u0065x", "tag": "dog"}\n',
        '{"id":1,"name":"Rex","tag":"dog"}',
    ]
    for same in bodies:
        assert create(api, same).json() == first.json(), same
    assert Pet.objects.count() == 1


def test_printable_idempotency_key_is_accepted_and_another_one_and_a_failure_not_recorded(api: Client) -> None:
    for key in ("", "x" * 256, "é", "a\tb", "\x7f"):
        response = create(api, key=key)
        assert response.status_code == 400, key
        assert "Idempotency-Key" in response.json()["error"]["message"]
    assert not Pet.objects.exists()
    for key in ("x", "x" * 255, "a b~!", "'; --", "a,b", ","):
        for body in ({}, {"name": ""}, "{"):
            assert create(api, body, key).status_code == 400
        first, second = create(api, key=key), create(api, key=key)
        assert (first.status_code, "Idempotency-Replayed" in first) == (201, False), key
        assert first.json() == second.json()


@pytest.mark.django_db(transaction=True)
def test_pet_that_the_database_rejects_leaves_no_record(api: Client) -> None:
    with pytest.raises(IntegrityError):
        services.create_pet_once(api_key=APIKey.objects.get(), idempotency_key="key", name="", tag=None)
    assert not IdempotencyRecord.objects.exists()


def test_idempotency_key_expires_after_24_hours(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_MAX_DELETED", 0)  # as if many other expired records were deleted first
    api_key = APIKey.objects.get()
    then = timezone.now() - PERIOD
    old, _ = services.create_pet_once(api_key=api_key, idempotency_key="key", **REX, now=then)
    record = IdempotencyRecord.objects.filter(key="key")
    record.update(created_at=then + timedelta(minutes=5))
    assert create(api).json()["id"] == old.id
    record.update(created_at=then)

    response = create(api, {"name": "Tom"})

    assert response.status_code == 201
    assert "Idempotency-Replayed" not in response
    assert response.json()["id"] != old.id
    assert IdempotencyRecord.objects.get().pet_id == response.json()["id"]


def test_expired_records_are_deleted_as_new_ones_are_created(api: Client) -> None:
    api_key = APIKey.objects.get()
    for number in range(30):
        then = timezone.now() - timedelta(hours=24 if number else 23)
        services.create_pet_once(api_key=api_key, idempotency_key=f"old {number}", **REX, now=then)

    create(api, key="new")

    assert set(IdempotencyRecord.objects.values_list("key", flat=True)) == {"old 0", "new"}
    assert Pet.objects.count() == 31


@only_on_postgresql
def test_two_requests_with_one_key_at_the_same_time_create_one_pet(
    server_transport: SocketTransport, service: Service
) -> None:
    name = f"Simultaneous at {server_transport.url}"  # the servers share one database
    headers = [*WRITE, TYPE, ("Idempotency-Key", name)]

    def post() -> Reply:
        return server_transport.send("POST", "/v1/pets", headers, json.dumps({"name": name}).encode())

    with ThreadPoolExecutor(2) as pool:
        with service.database() as database:
            database.execute("LOCK TABLE pets_pet IN SHARE MODE")  # for which an insert waits
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            first = pool.submit(post)
            wait_until(lambda: database.execute(waiting).fetchone() == (1,))
            second = pool.submit(post)
            wait_until(lambda: second.done() or database.execute(waiting).fetchone() == (2,))
        # On a busy machine, the second one may be the first that the server reads.
        created, other = sorted((first.result(), second.result()), key=attrgetter("status"))

    assert created.status == 201
    assert (other.status, other.header("Retry-After")) == (409, "1") or other.json() == created.json()
    assert service.execute("SELECT count(*) FROM pets_pet WHERE name = %s", name) == [(1,)]


@pytest.mark.parametrize("values", [("a", "b"), ("a", "a"), ("a", ""), ("a,b", "c")], ids=str)
def test_two_headers_are_rejected(socket_transport: SocketTransport, service: Service, values: tuple[str, str]) -> None:
    """Plain gunicorn joins them, as deployment.md says."""
    name = f"Twice {values}"
    headers = [*WRITE, TYPE, *(("Idempotency-Key", value) for value in values)]

    reply = socket_transport.send("POST", "/v1/pets", headers, json.dumps({"name": name}).encode())

    assert reply.status == 400
    assert "Idempotency-Key must be one header" in reply.error["message"]
    assert service.execute("SELECT count(*) FROM pets_pet WHERE name = %s", name) == [(0,)]
