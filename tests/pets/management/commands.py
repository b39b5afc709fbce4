"""Runs of the commands import_pets and export_pets."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import TextField
from django.db.models.functions import Cast

from pets.files.rows import COLUMNS
from pets.models import Pet


def run(command: str, *arguments: object) -> str:
    """Run a command and return its standard error. The command must not write to standard output."""
    output, errors = StringIO(), StringIO()
    call_command(command, *map(str, arguments), stdout=output, stderr=errors, no_color=True)
    assert not output.getvalue()
    return errors.getvalue()


def all_pets() -> list[tuple[Any, ...]]:
    """Return the values of all pets, and the times of creation as they are stored: SQLite compares times as text."""
    return list(Pet.objects.order_by("pk").values_list(*COLUMNS, Cast("created_at", TextField())))


def errors_of_import(file: Path, *arguments: object) -> list[str]:
    """Run an import that fails, and return the lines of its errors."""
    output = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_pets", str(file), *map(str, arguments), stderr=output, no_color=True)
    assert caught.value.returncode == 1
    return [*output.getvalue().splitlines(), str(caught.value)]
