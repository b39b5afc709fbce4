"""Usual requests that the differential test does not send: those that do work for later ones, and of odd records."""

import pytest
from django.db import connection
from django.utils import timezone

from pets import services
from tests.server.connections import Client, get, post
from tests.service import Service

NUMBER = 250  # one of so many goes to Django


def test_expired_records_are_deleted_while_all_idempotency_keys_are_new(service: Service, service_key: str) -> None:
    with Client(service) as client:

        def create(idempotency_key: str) -> None:
            once = f"Idempotency-Key: {idempotency_key}".encode()
            assert client.response_to(post(service_key, b'{"name":"Rex"}', once)).status == 201

        create("expired")
        then = timezone.now() - services.IDEMPOTENCY_PERIOD
        service.execute("UPDATE pets_idempotencyrecord SET created_at = %s WHERE key = 'expired'", then)
        for number in range(NUMBER):
            create(f"unexpired {number}")

    records = "SELECT count(*) FROM pets_idempotencyrecord WHERE key LIKE %s"
    assert service.execute(records, "expired%") == [(0,)]
    assert service.execute(records, "unexpired%") == [(NUMBER,)]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="a text of PostgreSQL is a text")
def test_a_name_that_is_no_text_fails_its_request_and_not_the_connection(service: Service, service_key: str) -> None:
    """Other programs can write it to the database."""
    pet_id = "01900000-0000-7000-8000-000000000000"
    columns = "(id, name, status, created_at)"
    service.execute(f"INSERT INTO pets_pet {columns} VALUES (%s, x'ff', 'available', '2026-01-01')", pet_id)
    try:
        with Client(service) as client:
            for _ in range(2):
                response = client.response_to(get(f"/v1/pets/{pet_id}", f"X-API-Key: {service_key}".encode()))
                assert (response.status, response.header("Connection")) == (500, None)
    finally:
        service.execute("DELETE FROM pets_pet WHERE id = %s", pet_id)
