"""The commands import_pets and export_pets with files and tables, and their entries in the audit."""

import errno
import json
import os
import signal
from collections.abc import Callable, Generator, Iterable
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pets.fields import OPTIONAL_TEXTS, new_pet_id
from pets.management.commands import export_pets, import_pets
from pets.models import ImportedFile, Pet
from petservice.api.validators import NOT_BLANK
from petservice.journal.models import Event
from store.services import inventory_counts
from tests.backoffice.pages import messages
from tests.concurrent_write import only_on_postgresql, write_before
from tests.pets.admin.pet_pages import versions_shown
from tests.pets.admin.test_bulk_actions import act
from tests.pets.management.commands import all_pets, errors_of_import, run

pytestmark = pytest.mark.django_db


def test_pets_are_imported_as_available_and_exported_the_oldest_first_and_both_are_in_the_audit(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    before, others = datetime.now(UTC), 1498

    assert run("import_pets", file("Name;Status\r\nRex;\r\nTom;SOLD\r\n" + "Mia;\r\n" * others)) == (
        "Imported 1,500 pets.\n"
    )

    rex, tom, *_ = Pet.objects.order_by("pk")
    assert (rex.name, rex.tag, rex.status, rex.created_by) == ("Rex", None, "available", "command import_pets")
    assert (tom.name, tom.status) == ("Tom", "sold")
    assert before <= rex.created_at < tom.created_at <= datetime.now(UTC)
    assert inventory_counts() == {"available": 1 + others, "pending": 0, "sold": 1}
    assert run("export_pets", tmp_path / "pets.json") == "Exported 1,500 pets.\n"
    exported = [json.loads(line) for line in (tmp_path / "pets.json").read_text().splitlines()]
    assert [pet["name"] for pet in exported] == ["Rex", "Tom", *["Mia"] * others]
    assert datetime.fromisoformat(exported[1]["sold_at"]) == tom.sold_at
    events = [*Event.objects.order_by("pk").values_list("kind", "account_name", "record_type", "count")]
    assert events == [("imported", "command", "pets.pet", 1500), ("exported", "command", "pets.pet", 1500)]
    assert "1,500 pets" in Event.objects.earliest("pk").message, "the dashboard shows no other number"


NOTHING = "Nothing was imported."
AN_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
REJECTED = {
    "a broken row after an invalid one": (
        'name,status\nRex,gone\nTom,"sold\n',
        ["line 2: status must", "line 3: the CSV is broken", NOTHING],
    ),
    "more than twenty errors": (
        "name,tag\n" + "Rex\n" * 5000,
        [*(f"line {number}: " for number in range(2, 22)), f"{NOTHING} There may be more errors."],
    ),
    "an id twice, far apart": (
        f"id,name\n{AN_ID},Rex\n" + ",Tom\n" * 2499 + f"{AN_ID},Mia",
        ["line 2502: Duplicate ID: also on line 2.", NOTHING],
    ),
}


@pytest.mark.parametrize(("content", "expected"), REJECTED.values(), ids=REJECTED)
def test_a_file_with_errors_is_reported_with_their_lines_and_nothing_is_imported(
    file: Callable[..., Path], content: str, expected: list[str]
) -> None:
    for error, beginning in zip(errors_of_import(file(content)), expected, strict=True):
        assert error.startswith(beginning)
    assert not Pet.objects.exists()


def test_each_line_with_the_id_of_a_pet_is_named_and_nothing_is_imported(file: Callable[..., Path]) -> None:
    pets = [Pet.objects.create(name="Rex").pk for _ in range(3)]
    ids = [new_pet_id(), *reversed(pets), pets[0]]

    errors = errors_of_import(file("\n".join(["id,name", *(f"{pk},Mia" for pk in ids)])))

    existing = [f"line {line}: A pet with the ID {pk} already exists." for line, pk in enumerate(ids, start=2)]
    assert errors == [*existing[1:], NOTHING]
    assert [row[1] for row in all_pets()] == ["Rex"] * 3
    assert inventory_counts()["available"] == 3


def test_the_error_for_an_unreadable_file_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()

    for name in ("gone.csv", ".", "folder.csv"):
        (error,) = errors_of_import(tmp_path / name, "--format", "csv")
        assert error.startswith(f"{tmp_path / name}: ")
        assert error.endswith(". Nothing was imported.")


@only_on_postgresql
def test_an_import_fails_if_someone_creates_one_of_its_pets_after_the_check(file: Callable[..., Path]) -> None:
    path = file(f"id,name\n{AN_ID},Tom\n")

    with write_before("pg_try_advisory", lambda: Pet.objects.create(pk=AN_ID, name="Rex")):
        errors = errors_of_import(path)

    assert errors == [f"line 2: A pet with the ID {AN_ID} already exists.", NOTHING]
    assert [row[1] for row in all_pets()] == ["Rex"]


def test_a_file_that_grows_during_its_import_is_not_imported(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file("name\nRex\n")
    monkeypatch.setattr(import_pets, "new_pet_id", lambda: path.write_text("name\nRex\nTom\n") and new_pet_id())

    assert errors_of_import(path) == ["The file was changed during the import. Nothing was imported."]
    assert not Pet.objects.exists()


def test_a_pet_that_is_imported_again_is_not_the_one_that_a_page_still_shows(
    file: Callable[..., Path], admin_client: Client
) -> None:
    old = Pet.objects.create(name="Rex")
    shown = versions_shown(admin_client)
    Pet.objects.filter(pk=old.pk).delete()

    run("import_pets", file(f"id,name\n{old.pk},Other\n"))

    (message,) = messages(act(admin_client, "mark_as_sold", shown, old))
    assert message == "1 pet was not changed, because someone else changed it in the meantime: “Other”."


def test_a_file_with_new_pets_is_imported_again_only_with_an_option(file: Callable[..., Path]) -> None:
    path = file('[{"name": "Rex"}]', "pets.json")
    run("import_pets", path)

    with pytest.raises(CommandError, match=r"imported before: on 20\d\d-.* UTC by command. .*Add --again"):
        run("import_pets", path)
    assert (Pet.objects.count(), Event.objects.count()) == (1, 1)

    run("import_pets", path, "--again")
    assert (Pet.objects.count(), ImportedFile.objects.count()) == (2, 2)


@only_on_postgresql
def test_two_imports_of_a_file_at_the_same_time_import_it_once(file: Callable[..., Path]) -> None:
    path = file("name\nRex\n")

    with (
        pytest.raises(CommandError, match="Another import of this file is running"),
        write_before('INSERT INTO "pets_importedfile"', lambda: run("import_pets", path)),
    ):
        run("import_pets", path)

    assert (Pet.objects.count(), ImportedFile.objects.count()) == (1, 1)


def test_an_import_is_undone_if_the_audit_cannot_be_written_and_an_export_is_not(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    path = file("name\nRex\n")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE journal_event RENAME TO unavailable")

    with pytest.raises(CommandError, match=r"(?s)Database error: .*Nothing was imported"):
        run("import_pets", path)
    assert not Pet.objects.exists()
    assert "The audit cannot be written" in run("export_pets", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes().startswith(b"id,name")


# The export.


def test_an_export_replaces_an_existing_file_also_by_a_link_and_leaves_no_other(file: Callable[..., Path]) -> None:
    path = file("x" * 10_000)
    link = path.with_name("link.csv")
    link.symlink_to(path)

    run("export_pets", link)

    assert path.read_bytes() == b"id,name,tag,status,created_at,created_by,sold_at\r\n"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(path.parent.iterdir()) == [link, path]


def test_an_export_does_not_replace_a_device_a_pipe_or_a_folder(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    for name in ("/dev/null", f"/dev/fd/{writer}", f"{tmp_path}", f"{tmp_path}/gone/pets.csv"):
        with pytest.raises(CommandError, match=f"^{name}"):
            call_command("export_pets", name, "--format", "csv")

    os.close(reader)
    os.close(writer)
    assert not Path("/dev/null").is_file()
    assert not list(tmp_path.iterdir())


INTERRUPTIONS = [
    (KeyboardInterrupt(), "Interrupted: nothing was {}."),
    (OSError(errno.ENOSPC, "No space left on device"), "No space left on device. Nothing was {}."),
    (DatabaseError("the server is gone\n"), "Database error: the server is gone. Nothing was {}."),
]


@pytest.mark.parametrize(("error", "message"), INTERRUPTIONS)
def test_an_export_that_fails_keeps_the_old_file_and_leaves_no_other_and_standard_output_has_got_some_pets(
    file: Callable[..., Path], error: BaseException, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pet.objects.create(name="Rex")
    path = file("old")

    def failing(rows: Iterable[object], file_format: str) -> Generator[bytes]:
        yield b"new %d" % len([*rows])
        if isinstance(error, KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        raise error

    monkeypatch.setattr(export_pets, "write", failing)
    with pytest.raises(CommandError) as failed:
        call_command("export_pets", path)

    assert str(failed.value) == message.format("exported")
    assert failed.value.returncode == (130 if "Interrupted" in message else 1)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
    assert not Event.objects.exists()
    with pytest.raises(CommandError) as failed:
        call_command("export_pets", "-", "--format", "csv")
    assert str(failed.value) == message.format("exported to its end")
    assert Event.objects.get().count == 1


@pytest.mark.parametrize(("error", "message"), INTERRUPTIONS)
def test_an_import_that_fails_after_many_pets_imports_none(
    file: Callable[..., Path], error: BaseException, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [*(new_pet_id() for _ in range(1500)), error]
    monkeypatch.setattr(import_pets, "new_pet_id", Mock(side_effect=ids))

    with pytest.raises(CommandError) as failed:
        call_command("import_pets", file("name\n" + "Rex\n" * len(ids)))

    assert str(failed.value) == message.format("imported")
    assert failed.value.returncode == (130 if "Interrupted" in message else 1)
    assert not Pet.objects.exists()


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
@hypothesis_settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pets=st.lists(PETS, max_size=5, unique_by=lambda pet: pet.id))
def test_export_then_import_gives_the_same_pets(tmp_path: Path, name: str, pets: list[Pet]) -> None:
    Pet.objects.all().delete()
    Pet.objects.bulk_create(pets)
    before = all_pets()

    run("export_pets", tmp_path / name)
    Pet.objects.all().delete()
    run("import_pets", tmp_path / name)

    assert all_pets() == before
