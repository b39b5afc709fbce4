"""The import page says when the same file was imported before, and offers templates that it accepts."""

import re
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import find
from django.test import Client

from pets.models import ImportedFile, Pet
from petservice.journal.models import Event
from tests.backoffice.staff import granted
from tests.pets.admin.import_export.import_pages import IMPORT, IMPORTER, cells, confirm, exported, stored, upload

FILE = "Name;TAG\r\nRex;dog\r\n"
BEFORE = "This file was imported before"


def test_the_preview_says_when_and_by_whom_the_file_was_imported_before(staff: Client) -> None:
    page = upload(staff, FILE)
    assert BEFORE not in page.content.decode()
    confirm(staff, page)

    page = upload(granted(*IMPORTER, name="bea"), FILE)
    assert f"{BEFORE}: on {ImportedFile.objects.get().imported_at:%Y-%m-%d %H:%M} UTC by jo" in page.content.decode()
    assert BEFORE not in upload(staff, FILE + "Tom;\r\n").content.decode()


def test_a_file_that_someone_else_imported_after_the_preview_is_previewed_again(staff: Client) -> None:
    other = granted(*IMPORTER, name="bea")
    page, page_of_other = upload(staff, FILE), upload(other, FILE)
    confirm(other, page_of_other)

    again = confirm(staff, page)

    assert "the same file was imported after you opened the preview" in again.content.decode()
    assert BEFORE in again.content.decode()
    assert Pet.objects.count() == 1
    confirm(staff, page)  # sent again, because the first response was lost
    assert Pet.objects.count() == 1
    confirm(staff, again)  # on purpose
    assert Pet.objects.count() == 2


def test_the_templates_can_be_imported(staff: Client) -> None:
    templates = re.findall(r'href="([^"]*)" download', staff.get(IMPORT).content.decode())

    assert len(templates) == 3
    for url in templates:
        template = Path(str(find(url.removeprefix(settings.STATIC_URL)))).read_bytes()
        assert [row[1:] for row in cells(upload(staff, template, url))] == [
            ["New", "Rex", "dog", "available"],
            ["New", "Mia", "", "pending"],
        ]
    assert stored() == []


def test_errors_stand_above_the_form(staff: Client) -> None:
    for content in ("name,tag\nRex, \n", "name\n"):
        page = upload(staff, content).content.decode()

        assert page.index('class="errorlist"') < page.index('name="file"')


def test_an_export_is_in_the_audit_with_its_filter_and_number(staff: Client) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in ("sold", "sold", "pending"))

    exported(staff, query="?status__exact=sold")

    entry = Event.objects.get(kind="exported")
    assert (entry.account_name, entry.record_type, entry.count) == ("jo", "pets.pet", 2)
    assert entry.message == "Exported as CSV. Filter: status sold."


def test_an_import_is_in_the_audit_once_with_its_number(staff: Client) -> None:
    confirm(staff, upload(staff, "name\nRex\nTom\n"))

    entry = Event.objects.exclude(kind="login").get()
    assert (entry.kind, entry.account_name, entry.count) == ("imported", "jo", 2)
