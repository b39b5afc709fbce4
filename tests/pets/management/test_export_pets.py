"""The command export_pets with files, and the file formats of both commands."""

import errno
import json
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pets.fields import OPTIONAL_TEXTS
from pets.management.commands import export_pets
from pets.models import Pet
from pets.services import create_pet
from petservice.api.validators import NOT_BLANK
from tests.pets.management.commands import all_pets, run

pytestmark = pytest.mark.django_db


def test_all_values_are_exported_the_oldest_pet_first(tmp_path: Path) -> None:
    for name in ("Rex", "Tom", "Mia"):
        create_pet(name=name)
    Pet.objects.filter(name="Rex").update(status="sold")
    Pet.objects.update(sold_at=datetime(2026, 11, 1, tzinfo=UTC))

    run("export_pets", tmp_path / "pets.json")

    rex, tom, mia = map(json.loads, (tmp_path / "pets.json").read_text().splitlines())
    assert [rex["name"], tom["name"], mia["name"]] == ["Rex", "Tom", "Mia"]
    assert rex["sold_at"] == "2026-11-01T00:00:00+00:00"


def test_an_export_replaces_an_existing_file_also_by_a_link_and_leaves_no_other(file: Callable[..., Path]) -> None:
    path = file("x" * 10_000)
    link = path.with_name("link.csv")
    link.symlink_to(path)

    run("export_pets", link)

    assert path.read_bytes() == b"id,name,tag,status,created_at,created_by,sold_at\r\n"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(path.parent.iterdir()) == [link, path]


def test_an_export_does_not_replace_a_device_or_folder(tmp_path: Path) -> None:
    for name in ("/dev/null", f"{tmp_path}", f"{tmp_path}/gone/pets.csv"):
        with pytest.raises(CommandError, match=name):
            call_command("export_pets", name, "--format", "csv")

    assert not Path("/dev/null").is_file()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyboardInterrupt(), "Interrupted: nothing was exported."),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device. Nothing was exported."),
        (DatabaseError("the server is gone\n"), "Database error: the server is gone. Nothing was exported."),
    ],
)
def test_an_export_that_fails_keeps_the_old_file_and_leaves_no_other(
    file: Callable[..., Path], error: BaseException, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file("old")

    def failing(*arguments: object) -> Generator[bytes]:
        yield b"new"
        raise error

    monkeypatch.setattr(export_pets, "write", failing)
    with pytest.raises(CommandError) as failed:
        call_command("export_pets", path)

    assert (str(failed.value), failed.value.returncode) == (message, 130 if "Interrupted" in message else 1)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


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


@pytest.mark.once
@pytest.mark.parametrize("name", ["pets.csv", "pets.jsonl"])
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


@pytest.mark.once
def test_a_file_name_without_a_known_extension_needs_a_format(file: Callable[..., Path], tmp_path: Path) -> None:
    for command, name in product(("import_pets", "export_pets"), ("-", "pets", "pets.pdf")):
        with pytest.raises(CommandError, match=r"unknown: add --format csv or --format jsonl( or --format xlsx)?\."):
            call_command(command, name)

    run("import_pets", file('{"name": "Rex"}', "pets.txt"), "--format", "jsonl")
    run("export_pets", tmp_path / "pets.json", "--format", "csv")
    assert (tmp_path / "pets.json").read_text().startswith("id,name,tag")
