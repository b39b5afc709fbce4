"""The database of the last release can be upgraded."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from tests.databases import fresh_database_url
from tests.service import log_in, running_service

RELEASED = Path(__file__).parent / "released"


def load_released(url: str) -> str:
    """Fill an empty database with that of the last release, and return its API key."""
    on_sqlite, on_postgresql = (RELEASED / "keys.txt").read_text().split()
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
            database.executescript((RELEASED / "sqlite.sql").read_text())
        return on_sqlite
    with psycopg.connect(url) as server:
        server.execute((RELEASED / "postgresql.sql").read_bytes())
    return on_postgresql


@pytest.mark.long
def test_clients_and_staff_find_all_that_the_last_release_had(tmp_path: Path) -> None:
    with fresh_database_url(tmp_path) as url:
        key = load_released(url)
        with running_service(tmp_path, DATABASE_URL=url) as service, service.client(key) as client:
            pets = client.get("/v1/pets").raise_for_status().json()
            assert sorted(pet["name"] for pet in pets) == ["Polly", "Rex", "Zoë", "Барсик"]
            assert client.get("/v1/store/inventory").json() == {"available": 2, "pending": 0, "sold": 2}
            # The record in the file expires after 24 hours.
            service.execute("UPDATE pets_idempotencyrecord SET created_at = %s", datetime.now(UTC))
            repeated = client.post("/v1/pets", json={"name": "Polly"}, headers={"Idempotency-Key": "order-1"})
            assert repeated.json() in pets
            assert client.post("/v1/pets", json={"name": "Tom"}).status_code == 201
            assert client.get("/v1/store/inventory").json()["available"] == 3
            (rex,) = (pet["id"] for pet in pets if pet["name"] == "Rex")
            log_in(client, "bob", "a password of bob")
            history = client.get(f"/admin/pets/pet/{rex}/history/").raise_for_status().text
            assert "Status changed from available to sold." in history
            assert "Acme" in client.get("/admin/apikeys/apikey/").raise_for_status().text
