from pathlib import Path

import pytest

from tests.service import Service


@pytest.fixture
def unused(tmp_path: Path, migrated_url: str) -> Path:
    """A data folder for SQLite as after the first migration, so that a first start need not migrate."""
    Service("", None, tmp_path / "log", {"DATABASE_URL": migrated_url}).execute("DELETE FROM apikeys_apikey")  # type: ignore[arg-type]
    return tmp_path
