"""The confirmation of an import: repeated, concurrent and outdated confirmations."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from pets.fields import new_pet_id
from pets.models import ImportedFile, Pet, Upload
from tests.backoffice.pages import messages
from tests.backoffice.staff import granted
from tests.concurrent_write import only_on_postgresql, write_before
from tests.pets.admin.import_export.import_pages import CONFIRM, IMPORT, IMPORTER, LIST, cells, confirm, stored, upload

pytestmark = pytest.mark.once


def test_only_the_last_preview_of_an_account_can_be_confirmed_once_and_only_by_it(staff: Client) -> None:
    other = granted(*IMPORTER, name="bea")
    page_of_other = upload(other, "name\nMia\n")
    first, last = upload(staff, "name\nRex\n"), upload(staff, "name\nTom\n")
    assert sorted(bytes(kept.content) for kept in Upload.objects.all()) == [b"name\nMia\n", b"name\nTom\n"]

    response = confirm(staff, first)

    assert "you opened a newer preview" in messages(response)[0]
    confirm(other, last)
    assert stored() == []
    confirm(staff, last)
    confirm(other, page_of_other)
    assert "the file was already imported" in messages(confirm(staff, last))[0]
    assert [row[1] for row in stored()] == ["Tom", "Mia"]
    assert not Upload.objects.exists()


def test_the_uploads_of_all_accounts_have_a_limit_and_expire_after_a_day(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Upload, "MAX_TOTAL", 100, raising=False)  # bytes
    other, file = granted(*IMPORTER, name="bea"), "name\n" + "狗" * 15 + "\n"  # 51 bytes
    upload(staff, file)

    page = upload(other, file)

    assert "Too many files of other accounts are waiting for their confirmation." in page.content.decode()
    assert 'name="upload"' not in page.content.decode()
    assert Upload.objects.count() == 1
    page = upload(staff, file)  # replaces the earlier one
    assert Upload.objects.count() == 1
    confirm(other, upload(other, "name\nRex\n"))
    assert Pet.objects.count() == 1
    Upload.objects.update(created_at=timezone.now() - timedelta(days=1))
    assert "or this one has expired" in messages(confirm(staff, page))[0]
    assert Pet.objects.count() == 1
    confirm(other, upload(other, file))  # which deletes the expired one
    assert Pet.objects.count() == 2
    assert not Upload.objects.exists()


@only_on_postgresql
def test_two_concurrent_confirmations_import_once(staff: Client) -> None:
    page = upload(staff, "name\nRex\n")

    with write_before('DELETE FROM "pets_upload"', lambda: confirm(staff, page)):
        response = confirm(staff, page)

    assert "the file was already imported" in messages(response)[0]
    assert Pet.objects.count() == 1


@only_on_postgresql
def test_two_accounts_that_confirm_the_same_file_at_the_same_time_import_it_once(staff: Client) -> None:
    other = granted(*IMPORTER, name="bea")
    page, page_of_other = upload(staff, "name\nRex\n"), upload(other, "name\nRex\n")
    responses = []

    with write_before('INSERT INTO "pets_importedfile"', lambda: responses.append(confirm(other, page_of_other))):
        confirm(staff, page)

    assert "or is being imported now" in responses[0].content.decode()
    again = confirm(other, responses[0])  # a preview from before the end of the first import
    assert Pet.objects.count() == 1
    confirm(other, again)  # on purpose
    assert Pet.objects.count() == 2


def test_a_confirmation_without_a_valid_upload_leads_to_the_list_and_a_login_before_it_to_a_new_one(
    staff: Client,
) -> None:
    for fields in ({}, {"upload": ""}, {"upload": "x"}, {"upload": new_pet_id()}):
        assert staff.post(CONFIRM, fields).headers["Location"] == LIST, fields

    page = staff.get(CONFIRM, follow=True)
    assert page.redirect_chain == [(IMPORT, 302)]
    assert "Nothing was imported. Upload the file again." in page.content.decode()


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (lambda pet, new_id: Pet.objects.update(name="Bo"), ["Changed", "New"]),
        (lambda pet, new_id: pet.delete(), ["New", "New"]),
        (lambda pet, new_id: Pet.objects.create(id=new_id, name="Mia"), ["Changed", "Changed"]),
    ],
    ids=["changed", "deleted", "created"],
)
def test_a_pet_that_was_written_after_the_preview_leads_to_a_new_preview(
    staff: Client, change: Callable[[Pet, str], object], kinds: list[str]
) -> None:
    pet, new_id = Pet.objects.create(name="Rex"), new_pet_id()
    page = upload(staff, f"id,name\n{pet.pk},Max\n{new_id},Tom\n")
    change(pet, new_id)
    before = stored()

    again = confirm(staff, page)

    assert "some of these pets were changed after the preview" in again.content.decode()
    assert [row[1] for row in cells(again)] == kinds
    # The old one, sent again, does not confirm the new one.
    assert "you opened a newer preview" in messages(confirm(staff, page))[0]
    assert stored() == before
    confirm(staff, again)
    assert [row[1] for row in stored()] == ["Max", "Tom"]


FILE = "Name;TAG\r\nRex;dog\r\n"
BEFORE = "This file was imported before"


def test_a_file_that_was_imported_before_or_since_the_preview_is_imported_again_only_on_purpose(staff: Client) -> None:
    other = granted(*IMPORTER, name="bea")
    page, page_of_other = upload(staff, FILE), upload(other, FILE)
    assert BEFORE not in page.content.decode()
    confirm(other, page_of_other)
    ImportedFile.objects.update(imported_at=timezone.now() - timedelta(hours=1))  # by a machine whose clock is slow

    again = confirm(staff, page)

    text = again.content.decode()
    assert "the same file was imported after you opened the preview" in text
    assert f"{BEFORE}: on {ImportedFile.objects.get().imported_at:%Y-%m-%d %H:%M} UTC by bea" in text
    confirm(staff, page)  # sent again, because the first response was lost
    assert Pet.objects.count() == 1
    confirm(staff, again)  # on purpose
    assert Pet.objects.count() == 2
    assert BEFORE in upload(staff, FILE).content.decode()
    assert BEFORE not in upload(staff, FILE + "Tom;\r\n").content.decode()
