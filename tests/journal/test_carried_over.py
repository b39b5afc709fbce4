"""The migration to the journal keeps the histories of the released version, which had no audit, undo and trash."""

from pathlib import Path
from typing import Any

import pytest

from tests.databases import fresh_database_url
from tests.repository.test_upgrade import load_released
from tests.service import Service, manage

pytestmark = pytest.mark.long


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
