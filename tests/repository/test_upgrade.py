"""The database of the last release can be upgraded, while instances of that release still run."""

import gzip
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from django.db.migrations.loader import MigrationLoader
from django_migration_linter import MigrationLinter

from tests.concurrent_write import only_on_postgresql
from tests.databases import fresh_database_url
from tests.service import ROOT, log_in, manage, running_service, stopped_service

OURS = ["pets", "store", "accounts", "apikeys", "journal", "petservice"]
# Published before any instance ran, and lock the table while they build indexes; or remove tables that no release had.
PUBLISHED = ["0002_back_office", "0001_history_indexes", "0013_journal", "0003_no_session_versions"]

RELEASED = Path(__file__).parent / "released"
# The history of the released version, which had no audit, and the same of the journal.
HISTORY = "SELECT action_time, object_id, object_repr FROM django_admin_log"
JOURNAL = "SELECT at, record_id, record_name FROM journal_event JOIN journal_item ON event_id = journal_event.id"
# All of PostgreSQL's schema, each as its table or kind, its name and its definition.
SCHEMA = """
SELECT table_name, column_name,
    concat_ws(' ', data_type, character_maximum_length, is_nullable, column_default, identity_generation)
    FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
"""


def load_released(url: str) -> str:
    """Fill an empty database with that of the last release, and return its API key."""
    on_sqlite, on_postgresql = (RELEASED / "keys.txt").read_text().split()
    if url.startswith("sqlite"):
        released = gzip.decompress((RELEASED / "sqlite.gz").read_bytes())
        Path(url.removeprefix("sqlite:///")).write_bytes(released)
        return on_sqlite
    with psycopg.connect(url) as server:
        server.execute((RELEASED / "postgresql.sql").read_bytes())
    return on_postgresql


@pytest.mark.long
def test_an_upgraded_database_has_all_that_the_last_release_had_and_the_schema_of_a_new_one(
    tmp_path: Path, migrated_url: str
) -> None:
    (folder := tmp_path / "released").mkdir()
    with fresh_database_url(folder) as url:
        key = load_released(url)
        history = stopped_service(folder, url).execute(HISTORY)
        with running_service(folder, DATABASE_URL=url) as service, service.client(key) as client:
            assert service.execute(JOURNAL) == service.execute(HISTORY) == history != []
            assert service.execute("SELECT account_name, kind, record_type, message FROM journal_event") == [
                ("bob", "changed", "pets.pet", "Status changed from available to sold.")
            ]
            assert service.execute("SELECT sold_at FROM pets_pet WHERE sold_at IS NOT NULL") == [history[0][:1]]
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
            page = client.get(f"/admin/pets/pet/{rex}/history/").raise_for_status().text
            assert "Status changed from available to sold." in page
            assert rex in client.get("/admin/pets/pet/?q=re").raise_for_status().text
            assert "Acme" in client.get("/admin/apikeys/apikey/").raise_for_status().text
        assert schema_of(url) == schema_of(migrated_url)


@pytest.mark.long
@only_on_postgresql
def test_a_migration_outside_a_transaction_that_was_not_recorded_is_repeated(tmp_path: Path, migrated_url: str) -> None:
    with fresh_database_url(tmp_path) as url:
        load_released(url)
        service = stopped_service(tmp_path, url)
        released = set(service.execute("SELECT app, name FROM django_migrations"))
        for key, migration in sorted(MigrationLoader(None).graph.nodes.items()):
            if not migration.atomic and key not in released:
                service.manage("migrate", *key)
                service.execute("DELETE FROM django_migrations WHERE app = %s AND name = %s", *key)
        service.manage("migrate")
        assert schema_of(url) == schema_of(migrated_url)


@pytest.mark.long
def test_one_of_two_upgrades_at_the_same_time_waits_for_the_other(tmp_path: Path) -> None:
    with fresh_database_url(tmp_path) as url, ThreadPoolExecutor(2) as pool:
        load_released(url)
        variables = {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(tmp_path)}
        ended = [*pool.map(lambda _: manage("migrate", **variables), range(2))]

    assert [one.returncode for one in ended] == [0, 0], ended
    assert sum("Applying" in one.stdout for one in ended) == 1


def schema_of(url: str) -> list[tuple[str, ...]]:
    """Return the tables with their columns, constraints, indexes, triggers and functions of a database."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
            rows = database.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
            # A table that a migration has copied can have its columns in another order.
            return sorted(
                (kind, name, *(sorted(sql.split()) if kind == "table" else [sql])) for kind, name, sql in rows
            )
    with psycopg.connect(url) as server:
        rows = server.execute(SCHEMA).fetchall()
    # A dump has some type casts and parentheses in other places than the statement of a migration.
    return sorted((*names, re.sub(r"::(text|character varying)(\[\])?|[()]", "", sql)) for *names, sql in rows)


@only_on_postgresql  # outside a transaction, because concurrent operations cannot produce their SQL inside one
def test_migrations_let_the_previous_version_run() -> None:
    linter = MigrationLinter(
        path=str(ROOT), include_apps=OURS, ignore_name=PUBLISHED, all_warnings_as_errors=True, no_cache=True
    )

    linter.lint_all_migrations()

    linted = linter.nb_valid + linter.nb_erroneous + len(PUBLISHED)
    assert linted == sum(len([*Path(apps.get_app_config(app).path).glob("migrations/0*.py")]) for app in OURS)
    assert linter.nb_erroneous == 0
