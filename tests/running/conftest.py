from pathlib import Path

import pytest

from tests.service import stopped_service


@pytest.fixture
def unused(tmp_path: Path, migrated_url: str) -> Path:
    """A data folder for SQLite as after the first migration, so that a first start need not migrate."""
    stopped_service(tmp_path, migrated_url).execute("DELETE FROM apikeys_apikey")
    return tmp_path
