"""The database of the last release can be upgraded, while instances of that release still run."""

import gzip
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.apps import apps
from django.db.migrations.loader import MigrationLoader
from django_migration_linter import MigrationLinter

from tests.concurrent_write import only_on_postgresql
from tests.databases import fresh_database_url
from tests.service import ROOT, Service, log_in, running_service, stopped_service
from tests.waiting import wait_until

OURS = ["pets", "store", "accounts", "apikeys", "journal", "petservice"]
# Published before any instance ran, and lock the table while they build indexes; or remove tables that only the admin
# and commands of the last release use, which do not run beside them (petservice/docs/deployment.md).
PUBLISHED = ["0002_back_office", "0001_history_indexes", "0013_journal", "0003_no_session_versions"]

RELEASED = Path(__file__).parent / "released"
# The tables of the released version that the journal replaces, each with its key and a time.
MOMENTS = {
    "audit_auditentry": "id, at",
    "django_admin_log": "id, action_time",
    "pets_changeset": "id, created_at",
    "pets_trashedpet": "id, deleted_at",
}
# The audit and the history of the released version, and the same of the journal.
AUDIT = "SELECT at, kind, account_name, address, record_type, count, message FROM {} ORDER BY id"
HISTORY = "SELECT object_id, object_repr, change_message FROM django_admin_log ORDER BY id"
JOURNAL = """
SELECT record_id, record_name, coalesce(nullif(journal_item.message, ''), journal_event.message)
FROM journal_item JOIN journal_event ON event_id = journal_event.id ORDER BY journal_item.id
"""
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


def move_to_now(service: Service) -> None:
    """Move the times of what staff did to now, because a change can be undone for an hour."""
    rows = {table: service.execute(f"SELECT {columns} FROM {table}") for table, columns in MOMENTS.items()}
    moments = {(table, key): as_time(at) for table, found in rows.items() for key, at in found}
    ago = datetime.now(UTC) - max(moments.values())
    for (table, key), at in moments.items():
        column = MOMENTS[table].removeprefix("id, ")
        service.execute(f"UPDATE {table} SET {column} = %s WHERE id = %s", at + ago, key)


def as_time(value: Any) -> datetime:
    """Return a time as the driver of PostgreSQL does, given one of either database."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(value).replace(tzinfo=UTC)


@pytest.mark.long
def test_an_upgraded_database_has_all_that_the_last_release_had_and_the_schema_of_a_new_one(
    tmp_path: Path, migrated_url: str
) -> None:
    (folder := tmp_path / "released").mkdir()
    with fresh_database_url(folder) as url:
        key = load_released(url)
        released = stopped_service(folder, url)
        move_to_now(released)
        audit, history = released.execute(AUDIT.format("audit_auditentry")), released.execute(HISTORY)
        told = {"": "Deleted.", '[{"added": {}}]': "Added."}
        with running_service(folder, DATABASE_URL=url) as service, service.client(key) as client:
            *events, group = service.execute(AUDIT.format("journal_event"))
            assert events == audit != []
            assert group[1:3] == ("added", "ada")  # which the last release wrote in Django's log alone
            assert service.execute(HISTORY) == history
            as_told = [(*record, told.get(text, text)) for *record, text in history]
            assert service.execute(JOURNAL)[: len(history)] == as_told != []
            sale = next(row for row in audit if row[1] == "changed")
            assert service.execute("SELECT sold_at FROM pets_pet WHERE sold_at IS NOT NULL") == [sale[:1]]
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
            assert_undoes_all(service, client)
        assert schema_of(url) == schema_of(migrated_url)


def assert_undoes_all(service: Service, client: httpx.Client) -> None:
    """Undo what staff did in the released version: they sold Rex, and deleted Max, who was in the trash."""
    assert "Max" in client.get("/admin/pets/trashedpet/").raise_for_status().text
    for (change,) in service.execute("SELECT id FROM journal_event WHERE permissions <> ''"):
        token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        assert client.post(f"/admin/pets/recentchange/{change}/change/", data=token).status_code == 302
    found = service.execute(
        "SELECT name, tag, status, sold_at FROM pets_pet WHERE name IN ('Max', 'Rex') ORDER BY name"
    )
    assert found == [("Max", "cat", "available", None), ("Rex", "dog", "available", None)]
    assert "Max" not in client.get("/admin/pets/trashedpet/").raise_for_status().text


@pytest.mark.long
@only_on_postgresql
def test_the_journal_has_what_the_last_release_writes_while_the_migration_begins(tmp_path: Path) -> None:
    with fresh_database_url(tmp_path) as url, ThreadPoolExecutor(1) as pool:
        load_released(url)
        service = stopped_service(tmp_path, url)
        service.manage("migrate", "pets", "0012")
        with psycopg.connect(url) as command:
            command.execute("UPDATE audit_auditentry SET message = 'written meanwhile'")
            migration = pool.submit(service.manage, "migrate", "journal", "0002")
            waiting = "SELECT 1 FROM pg_locks WHERE relation = 'audit_auditentry'::regclass AND mode LIKE 'AccessExcl%'"
            wait_until(lambda: command.execute(waiting).fetchall() or migration.done())
        migration.result()
        assert ("written meanwhile",) in service.execute("SELECT message FROM journal_event")


@pytest.mark.long
@only_on_postgresql
def test_a_pet_that_is_being_written_while_the_search_changes_is_found_by_it(tmp_path: Path) -> None:
    with fresh_database_url(tmp_path) as url, ThreadPoolExecutor(1) as pool:
        (service := stopped_service(tmp_path, url)).manage("migrate", "pets", "0025")
        with psycopg.connect(url) as writer:
            columns, values = "id, name, status, created_at", "gen_random_uuid(), '№5', 'sold', now()"
            writer.execute(f"INSERT INTO pets_pet ({columns}) VALUES ({values})")
            migration = pool.submit(service.manage, "migrate", "pets")
            waiting = "SELECT 1 FROM pg_locks WHERE relation = 'pets_pet'::regclass AND NOT granted"
            wait_until(lambda: writer.execute(waiting).fetchall() or migration.done())
        migration.result()
        assert service.execute("SELECT search::text FROM pets_pet") == [("'5'",)]


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
