"""Functions that call the commands import_pets and export_pets."""

from io import StringIO
from typing import Any

from django.core.management import call_command

from pets.files.rows import COLUMNS
from pets.models import Pet


def run(command: str, *arguments: object) -> str:
    """Run a command and return its standard error. The command must not write to standard output."""
    output, errors = StringIO(), StringIO()
    call_command(command, *map(str, arguments), stdout=output, stderr=errors, no_color=True)
    assert not output.getvalue()
    return errors.getvalue()


def all_pets() -> list[tuple[Any, ...]]:
    return list(Pet.objects.order_by("pk").values_list(*COLUMNS))
