from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a file of pets."""

    def make(content: str | bytes, name: str = "pets.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


@pytest.fixture
def staff(admin_client: Client) -> Client:
    return admin_client
