"""The file formats of import_pets and export_pets."""

from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pets.fields import OPTIONAL_TEXTS
from pets.models import Pet
from petservice.api.validators import NOT_BLANK
from tests.pets.management.commands import all_pets, run

pytestmark = [pytest.mark.django_db, pytest.mark.once]

NAMES = ("pets.csv", "pets.jsonl")
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from("'=+-@\t\r\n\",; \ufeff\x1a"),
    min_size=1,
    max_size=255,
).filter(lambda text: NOT_BLANK.search(text))
PETS = st.builds(
    Pet,
    id=st.uuids().map(str),
    name=TEXTS,
    status=st.sampled_from(Pet.Status.values),
    created_at=st.datetimes(timezones=st.just(UTC)),
    created_by=st.none() | TEXTS,
    **dict.fromkeys(OPTIONAL_TEXTS, st.none() | TEXTS),
)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pets=st.lists(PETS, max_size=5, unique_by=lambda pet: pet.id))
def test_export_then_import_gives_the_same_pets(tmp_path: Path, name: str, pets: list[Pet]) -> None:
    Pet.objects.all().delete()
    Pet.objects.bulk_create(pets)
    before = all_pets()

    run("export_pets", tmp_path / name)
    Pet.objects.all().delete()
    run("import_pets", tmp_path / name)

    assert all_pets() == before


@pytest.mark.parametrize("command", ["import_pets", "export_pets"])
@pytest.mark.parametrize("name", ["-", "pets", "pets.pdf"])
def test_a_file_name_without_a_known_extension_needs_a_format(command: str, name: str) -> None:
    with pytest.raises(CommandError, match=r"is unknown: add --format csv or --format jsonl( or --format xlsx)?\."):
        call_command(command, name)


def test_the_format_can_be_chosen(file: Callable[..., Path], tmp_path: Path) -> None:
    run("import_pets", file('{"name": "Rex"}', "pets.txt"), "--format", "jsonl")
    run("export_pets", tmp_path / "pets.json", "--format", "csv")

    assert (tmp_path / "pets.json").read_text().startswith("id,name,tag")
