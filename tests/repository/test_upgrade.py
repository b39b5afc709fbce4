"""An existing database can be upgraded, although its tables already have triggers."""

import os
from pathlib import Path

import pytest

from tests.service import Service


@pytest.mark.once
def test_migrations_that_came_after_the_triggers_keep_them(tmp_path: Path) -> None:
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/petservice.sqlite3"}
    database = Service("", None, tmp_path / "log", environment)

    database.manage("migrate", "store")  # creates the triggers, after only the first migrations of pets
    database.manage("migrate")
