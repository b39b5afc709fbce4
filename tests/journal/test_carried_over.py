"""The migration to the journal keeps the histories, the audit, open undos and the trash of earlier versions."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from pets.fields import new_pet_id
from tests.databases import fresh_database_url
from tests.repository.test_upgrade import load_released
from tests.service import Service, log_in, manage, running_service

pytestmark = pytest.mark.long

NOW, MILLISECOND = datetime.now(UTC), timedelta(milliseconds=1)
# The table of versions between the first release and the journal.
AUDIT = """
CREATE TABLE audit_auditentry (
    id {key}, at {time} NOT NULL, kind varchar(20) NOT NULL, account_name varchar(150) NOT NULL, address {address},
    record_type varchar(100) NOT NULL, record_id varchar(255) NOT NULL, record_name varchar(255) NOT NULL,
    count integer NOT NULL, message text NOT NULL, account_id integer
)
"""
# Migrates the apps that have tables in such a version.
MIGRATE_SOME = """
from django.core.management import call_command
for target in [("auth", "0012"), ("pets", "0012"), ("journal", "0001"), ("admin", "0003")]:
    call_command("migrate", *target, verbosity=0)
"""


def rows(service: Service, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in service.execute(statement)]


def test_each_row_of_the_released_history_is_an_event_at_its_time(tmp_path: Path) -> None:
    with fresh_database_url(tmp_path) as url:
        load_released(url)
        service = Service("", None, tmp_path / "log", {"DATABASE_URL": url})  # type: ignore[arg-type]
        released = rows(service, "SELECT action_time, object_id, object_repr FROM django_admin_log ORDER BY id")

        manage("migrate", DATABASE_URL=url, PETSERVICE_DATA_DIR=str(tmp_path)).check_returncode()

        carried = """
            SELECT at, record_id, record_name FROM journal_event
            JOIN journal_item ON event_id = journal_event.id ORDER BY journal_event.id
        """
        assert rows(service, carried) == released != []
        assert rows(service, "SELECT account_name, kind, record_type, message FROM journal_event") == [
            ("bob", "changed", "pets.pet", "Status changed from available to sold.")
        ]
        assert rows(service, "SELECT action_time, object_id, object_repr FROM django_admin_log") == released
        assert rows(service, "SELECT sold_at FROM pets_pet WHERE sold_at IS NOT NULL") == [released[0][:1]]


@pytest.mark.once
def test_audit_open_undos_and_trash_of_unreleased_versions_are_carried_over(tmp_path: Path) -> None:
    rex, gone = new_pet_id(), new_pet_id()
    with fresh_database_url(tmp_path) as url:
        environment = {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(tmp_path)}
        manage("shell", "-v0", "-c", MIGRATE_SOME, **environment).check_returncode()
        fill(Service("", None, tmp_path / "log", environment), rex, gone)  # type: ignore[arg-type]
        manage("migrate", **environment).check_returncode()

        with running_service(tmp_path, DATABASE_URL=url) as service, service.client() as client:
            carried = "SELECT kind, account_name, count, message FROM journal_event WHERE kind <> 'login' ORDER BY at"
            assert rows(service, carried) == [
                ("key_changed", "ada", 1, "By hand."),
                ("changed", "ada", 1, "1 pet marked as sold."),
                ("deleted", "ada", 1, "“Max” deleted."),
            ]
            log_in(client, "ada", "a long one")
            history = client.get(f"/admin/pets/pet/{rex}/history/").raise_for_status().text
            assert history.count("Status changed from available to sold.") == 1
            ((change,),) = rows(service, "SELECT id FROM journal_event WHERE kind = 'changed'")
            undo = client.get(f"/admin/pets/recentchange/{change}/change/").raise_for_status().text
            assert "Undo this change?" in undo
            assert "1 pet marked as sold." in undo
            ((key,),) = rows(service, "SELECT id FROM journal_item WHERE in_trash_until IS NOT NULL")
            trashed = client.get(f"/admin/pets/trashedpet/{key}/change/").raise_for_status().text
            assert all(text in trashed for text in (gone, "Max", "cat", "Sold", "Deleted.", "ada"))


def fill(service: Service, rex: str, gone: str) -> None:
    """Write what a version between the release and the journal has written: a pet was sold, and one deleted."""
    kinds = {"key": "integer PRIMARY KEY", "time": "datetime", "address": "char(39)"}
    if connection.vendor == "postgresql":
        kinds = {"key": "bigint PRIMARY KEY", "time": "timestamptz", "address": "inet"}
    service.execute(AUDIT.format(**kinds))
    service.create_staff("ada", "a long one")
    columns = "id, name, tag, status, created_at"
    insert(service, "pets_pet", columns, rex, "Rex", "dog", "sold", NOW)
    insert(
        service, "pets_trashedpet", f"{columns}, deleted_at, deleted_by", gone, "Max", "cat", "sold", NOW, NOW, "ada"
    )
    change = "018f0000-0000-7000-8000-000000000000"
    change = change if connection.vendor == "postgresql" else change.replace("-", "")
    columns = "id, kind, summary, count, owner_id, permissions, created_at"
    insert(service, "pets_changeset", columns, change, "changed", "1 pet marked as sold.", 1, 1, "pets.change_pet", NOW)
    values = ('{"status": "available"}', '{"status": "sold"}')
    insert(service, "pets_changedpet", "change_set_id, pet_id, before, after", change, rex, *values)
    columns = "id, at, kind, account_id, account_name, record_type, record_id, record_name, count, message"
    changed = ("pets.pet", rex, "Rex", 1, "1 pet marked as sold.")
    deleted = ("pets.pet", gone, "Max", 1, "“Max” deleted.")
    insert(service, "audit_auditentry", columns, 1, NOW + 5 * MILLISECOND, "changed", 1, "ada", *changed)
    insert(service, "audit_auditentry", columns, 2, NOW + 15 * MILLISECOND, "deleted", 1, "ada", *deleted)
    columns = "action_time, user_id, content_type_id, object_id, object_repr, action_flag, change_message"
    types = "SELECT id FROM django_content_type WHERE model = %s"
    ((pets,),), ((keys,),) = service.execute(types, "pet"), service.execute(types, "apikey")
    sold = "Status changed from available to sold."
    insert(service, "django_admin_log", columns, NOW - timedelta(days=9), 1, keys, "7", "Acme", 2, "By hand.")
    insert(service, "django_admin_log", columns, NOW + 8 * MILLISECOND, 1, pets, rex, "Rex", 2, sold)
    insert(service, "django_admin_log", columns, NOW + 10 * MILLISECOND, 1, pets, gone, "Max", 3, "")


def insert(service: Service, table: str, columns: str, *values: object) -> None:
    marks = ", ".join(["%s"] * len(values))
    service.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", *values)
