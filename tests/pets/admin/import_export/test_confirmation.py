"""The confirmation of an import, once and more often, soon and late."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from pets.admin import import_export
from pets.fields import new_pet_id
from pets.models import Pet, Upload
from pets.services import create_pet
from tests.pets.admin.import_export.import_pages import CONFIRM, IMPORT, LIST, MakeStaff, cells, confirm, stored, upload


def test_a_confirmation_that_is_sent_again_imports_nothing(staff: Client) -> None:
    page = upload(staff, "name\nRex\n")
    confirm(staff, page)

    answer = confirm(staff, page)

    assert "the file was already imported, or the preview has expired" in answer.content.decode()
    assert Pet.objects.count() == 1


def test_a_confirmation_that_is_sent_twice_at_once_imports_once(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second has found the upload before the first has imported it."""
    page = upload(staff, "name\nRex\n")
    found = Upload.objects.get()
    confirm(staff, page)
    monkeypatch.setattr(import_export, "_uploaded", lambda request: found)

    answer = confirm(staff, page)

    assert "the file was already imported, or the preview has expired" in answer.content.decode()
    assert Pet.objects.count() == 1


def test_only_who_has_uploaded_a_file_confirms_it(staff: Client, make_staff: MakeStaff) -> None:
    page = upload(staff, "name\nRex\n")

    confirm(make_staff("view", "add", "change", username="al"), page)

    assert not Pet.objects.exists()
    confirm(staff, page)
    assert Pet.objects.count() == 1


@pytest.mark.parametrize("fields", [{}, {"upload": ""}, {"upload": "x"}, {"upload": new_pet_id()}])
def test_a_confirmation_of_nothing_leads_back_to_the_list(staff: Client, fields: dict[str, str]) -> None:
    answer = staff.post(CONFIRM, fields)

    assert answer.status_code == 302
    assert answer["Location"] == LIST


def test_who_had_to_log_in_before_the_confirmation_is_led_to_another_upload(staff: Client) -> None:
    page = staff.get(CONFIRM, follow=True)

    assert page.redirect_chain == [(IMPORT, 302)]
    assert "Nothing was imported: choose the file once more." in page.content.decode()


@pytest.mark.parametrize("change", [{"name": "Bo"}, {"tag": "cat"}, {"status": "pending"}])
def test_a_pet_that_was_changed_since_the_preview_is_shown_again(staff: Client, change: dict[str, str]) -> None:
    pet = create_pet(name="Rex")
    page = upload(staff, f"id,name,tag\n{pet.pk},Max,dog\n,Tom,\n")
    Pet.objects.filter(pk=pet.pk).update(**change)
    before = stored()

    again = confirm(staff, page)

    assert "some of the pets have been changed since" in again.content.decode()
    assert f"<del>{change['name']}</del>" in again.content.decode() if "name" in change else True
    assert stored() == before
    confirm(staff, again)
    assert [row[1] for row in stored()] == ["Max", "Tom"]


def test_a_pet_that_has_gone_or_come_since_the_preview_is_shown_again(staff: Client) -> None:
    gone, come = create_pet(name="Rex"), new_pet_id()
    page = upload(staff, f"id,name\n{gone.pk},Max\n{come},Tom\n")
    gone.delete()
    Pet.objects.create(id=come, name="Mia")

    again = confirm(staff, page)

    assert [row[:2] for row in cells(again)] == [["2", "New"], ["3", "Changed"]]
    assert stored() == [(come, "Mia", None, "available")]


def test_an_upload_cannot_be_confirmed_after_a_day(staff: Client) -> None:
    page = upload(staff, "name\nRex\n")
    Upload.objects.update(created_at=timezone.now() - timedelta(days=1))

    answer = confirm(staff, page)

    assert "the preview has expired" in answer.content.decode()
    assert not Pet.objects.exists()


def test_an_upload_that_nobody_confirms_goes_after_a_day(staff: Client) -> None:
    upload(staff, "name\nRex\n")
    upload(staff, "name\nTom\n")
    assert Upload.objects.count() == 2
    Upload.objects.update(created_at=timezone.now() - timedelta(days=1))

    upload(staff, "name\nMia\n")

    assert [bytes(kept.content) for kept in Upload.objects.all()] == [b"name\nMia\n"]
