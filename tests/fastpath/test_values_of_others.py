"""Other programs can write to the database what no response can have."""

import pytest
from django.db import connection

from tests.server.connections import Client, get
from tests.service import Service


@pytest.mark.skipif(connection.vendor != "sqlite", reason="a text of PostgreSQL is a text")
def test_a_name_that_is_no_text_fails_its_request_and_not_the_connection(service: Service, service_key: str) -> None:
    pet_id = "01900000-0000-7000-8000-000000000000"
    columns = "(id, name, status, created_at)"
    service.execute(f"INSERT INTO pets_pet {columns} VALUES (%s, x'ff', 'available', '2026-01-01')", pet_id)
    try:
        with Client(service) as client:
            for _ in range(2):
                client.send(get(f"/v1/pets/{pet_id}", f"X-API-Key: {service_key}".encode()))
                response = client.response()
                assert (response.status, response.headers.get("connection")) == (500, None)
    finally:
        service.execute("DELETE FROM pets_pet WHERE id = %s", pet_id)
