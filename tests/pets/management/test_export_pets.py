"""The command export_pets with files."""

import errno
import json
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError

from pets.files.rows import COLUMNS
from pets.services import create_pet
from petservice.exports.files import export
from tests.pets.management.commands import run

pytestmark = pytest.mark.django_db


def test_the_oldest_pet_is_exported_first(tmp_path: Path) -> None:
    for name in ("Rex", "Tom", "Mia"):
        create_pet(name=name)

    run("export_pets", tmp_path / "pets.json")

    lines = (tmp_path / "pets.json").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["Rex", "Tom", "Mia"]


def test_an_export_replaces_an_existing_file_and_leaves_no_other_file(file: Callable[..., Path]) -> None:
    path = file("x" * 10_000)

    run("export_pets", path)

    assert path.read_bytes() == (",".join(COLUMNS) + "\r\n").encode()
    assert list(path.parent.iterdir()) == [path]


def test_an_export_follows_a_link_to_the_file_that_it_replaces(file: Callable[..., Path], tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(file("old"))

    run("export_pets", link)

    assert link.is_symlink()
    assert link.read_bytes().startswith(b"id,")


@pytest.mark.parametrize("name", ["/dev/null", "{folder}", "{folder}/gone/pets.csv"])
def test_an_export_does_not_replace_a_device_or_folder(tmp_path: Path, name: str) -> None:
    name = name.format(folder=tmp_path)

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
    file: Callable[..., Path], error: BaseException, message: str
) -> None:
    path = file("old")

    def parts() -> Generator[bytes]:
        yield b"new"
        raise error

    with pytest.raises(CommandError) as failed:
        export(parts(), str(path))

    assert (str(failed.value), failed.value.returncode) == (message, 130 if "Interrupted" in message else 1)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
