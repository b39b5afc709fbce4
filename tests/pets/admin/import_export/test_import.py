"""The import of files in the admin: the preview, the stored pets, and the files that are rejected."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from django.conf import settings
from django.contrib.staticfiles.finders import find
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from pets.admin.changes.import_pages import MAX_BYTES, MAX_SHOWN
from pets.fields import new_pet_id
from pets.models import Pet, Upload
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.journal.models import Event, Item
from store.services import inventory_counts
from tests.backoffice.pages import messages
from tests.backoffice.staff import granted
from tests.pets.admin.import_export.import_pages import (
    COLUMNS,
    CONFIRM,
    EXPORT,
    IMPORT,
    LIST,
    PRINT,
    cells,
    confirm,
    stored,
    upload,
)
from tests.pets.admin.pet_pages import histories
from tests.pets.workbooks import workbook

pytestmark = pytest.mark.once


def test_new_and_changed_pets_are_previewed_before_unchanged_ones_and_then_imported(staff: Client) -> None:
    pets = [
        Pet.objects.create(name=name, tag="dog", created_by="key pets_live_1 Acme") for name in ("Rex", "Tom", "Mia")
    ]
    rex, tom, mia = (pet.pk for pet in pets)
    Pet.objects.filter(name="Mia").update(status="pending")
    rows = [f"{mia},Mia,dog,", f"{rex},Max,dog,available", f"{tom},Tom,,sold", ", Ada ,,"]

    page = upload(staff, "\n".join(["id,name,tag,status", *rows]))

    assert cells(page) == [
        ["3", "Changed", "<del>Rex</del> <ins>Max</ins>", "dog", "available"],
        ["4", "Changed", "Tom", "<del>dog</del> <ins></ins>", "<del>available</del> <ins>sold</ins>"],
        ["5", "New", " Ada ", "", "available"],
        ["2", "Unchanged", "Mia", "dog", "pending"],
    ]
    assert "This file adds 1 pet, changes 2\nand leaves 1 as they are." in page.content.decode()
    before, _ = page.content.decode().split("<summary>Show 1 unchanged</summary>")
    assert before.count('<tr class="skip">') == 0

    response = confirm(staff, page)

    assert response.redirect_chain == [(LIST, 302)]
    assert messages(response) == ["Imported: 1 pet added, 2 changed, 1 unchanged."]
    unchanged = (mia, "Mia", "dog", "pending")
    assert stored() == [
        *((rex, "Max", "dog", "available"), (tom, "Tom", None, "sold"), unchanged, (ANY, " Ada ", None, "available"))
    ]
    assert Pet.objects.filter(created_by="key pets_live_1 Acme").count() == 3
    assert inventory_counts() == {"available": 2, "pending": 1, "sold": 1}
    assert [histories(staff, pet) for pet in pets] == [
        [("admin", "Imported: Name changed from “Rex” to “Max”.")],
        [("admin", "Imported: Status changed from available to sold. Tag changed from “dog” to nothing.")],
        [],
    ]
    event = Event.objects.exclude(kind="login").get()
    assert (event.kind, event.account_name, event.count) == ("imported", "admin", 3)
    assert [*event.items.order_by("pk").values_list("record_name", flat=True)] == ["Max", "Tom", " Ada "]
    assert not Upload.objects.exists()
    again = upload(staff, f"id,name\n{mia},Mia\n").content.decode()
    assert "This file changes nothing: its 1 pet is like that already." in again
    assert "Confirm import" not in again


def test_a_new_pet_has_the_time_of_the_file_and_the_user_as_creator_and_a_present_one_keeps_what_no_column_has(
    staff: Client,
) -> None:
    pet = Pet.objects.create(name="Rex", tag="dog", status="sold", created_at=datetime(2026, 3, 10, 12, tzinfo=UTC))

    rows = (f"{pk},{name},2026-02-01T12:00:00+00:00,key Acme" for pk, name in ((new_pet_id(), "Tom"), (pet.pk, "Max")))
    page = upload(staff, "\n".join(["id,name,created_at,created_by", *rows]))

    assert "<th>Created</th>" in page.content.decode()
    assert [row[-1] for row in cells(page)] == ["2026-02-01 12:00 UTC", "2026-03-10 12:00 UTC"]
    confirm(staff, page)
    tom = Pet.objects.get(name="Tom")
    assert (tom.created_at, tom.created_by) == (datetime(2026, 2, 1, 12, tzinfo=UTC), "staff admin")
    assert histories(staff, tom) == [("admin", "Imported.")]
    changed = Pet.objects.get(name="Max")
    assert (changed.tag, changed.status, changed.created_at) == ("dog", "sold", pet.created_at)
    assert "<th>Created</th>" not in upload(staff, "name\nTom\n").content.decode()


def test_a_preview_writes_only_the_upload_and_begins_no_transaction(staff: Client) -> None:
    """On SQLite a transaction would block the API's writers."""
    pet = Pet.objects.create(name="Rex")

    with CaptureQueriesContext(connection) as queries:
        upload(staff, f"id,name\n{pet.pk},Max\n,Tom\n")

    assert stored() == [(pet.pk, "Rex", None, "available")]
    assert not Item.objects.exists()
    statements = [query["sql"] for query in queries if not query["sql"].lstrip().startswith("SELECT")]
    assert [statement.split(" (")[0] for statement in statements] == ['INSERT INTO "pets_upload"', ANY]
    assert statements[1].startswith('DELETE FROM "pets_upload"')


def test_a_long_preview_shows_its_beginning_and_counts_all(staff: Client) -> None:
    page = upload(staff, "name\n" + "Rex\n" * 1234)

    assert len(cells(page)) == MAX_SHOWN
    assert "Only the first 200 of 1,234 pets are shown; all are imported." in page.content.decode()
    assert "This file adds 1,234 pets, changes 0\nand leaves 0 as they are." in page.content.decode()
    confirm(staff, page)
    assert Pet.objects.count() == 1234


def test_markup_in_a_file_is_shown_as_text(staff: Client) -> None:
    pet = Pet.objects.create(name="<i>Rex</i>")

    pages = [
        upload(staff, f"id,name\n{pet.pk},<script>alert(1)</script>\n,<b>\n"),
        upload(staff, "name,status\nRex,<script>alert(1)</script>\n"),
        upload(staff, "<script>alert(1)</script>\n<script>alert(2)</script>\n"),
    ]

    for page in pages:
        assert "<script>alert" not in page.content.decode()
        assert "&lt;script&gt;alert" in page.content.decode()
    assert "<del>&lt;i&gt;Rex&lt;/i&gt;</del>" in pages[0].content.decode()
    assert "style=" not in pages[0].content.decode()


# Files that are rejected, templates and permissions.


ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def errors(page: Any) -> list[str]:
    (text,) = re.findall(r'<ul class="errorlist".*?</ul>', page.content.decode(), re.DOTALL)
    return re.findall(r"<li>(.*?)</li>", text, re.DOTALL)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (f"id,name\n{ID},Rex\n,Tom\n{ID},Mia\n", "pets.csv", "Line 4: Duplicate ID: also on line 2."),
        ("[]", "pets.json", "There are no pets in this file."),
        # A column of so many words has something else than statuses, so that no question is asked about it.
        ("name,status\n" + "".join(f"Rex,word {n}\n" for n in range(31)), "pets.csv", "Line 2: status must be one of"),
        ("PK\x03\x04", "pets.ods", "The file name must end with .xlsx, .tsv, .txt, .csv, .json, .jsonl, .ndjson."),
        ('{"name": "Rex"}\n' * (MAX_COUNTED + 1), "pets.jsonl", "The file has more than 10,000 pets."),
        (
            workbook([["Name", "Art"]]),
            "pets.xlsx",
            "There are no pets in this file. If another sheet of a workbook has them, write the name of that sheet.",
        ),
        (b"Foo,Bar\n" + b"x,y\n" * 10_001, "pets.txt", "The file has more than 10,000 pets."),
        ("name\n" + "Rex\n" * (MAX_BYTES // 4), "pets.csv", "the limit is 39.1\xa0MB. Split it, or"),
    ],
)
def test_a_file_with_errors_is_rejected_on_the_page_and_changes_nothing(
    staff: Client, content: str | bytes, name: str, message: str
) -> None:
    page = upload(staff, content, name)

    assert page.status_code == 200
    assert any(message in error for error in errors(page)), errors(page)
    assert 'name="file"' in page.content.decode()
    assert not Pet.objects.exists()
    assert not Upload.objects.exists()


def test_only_the_first_hundred_errors_are_shown_above_the_form(staff: Client) -> None:
    page = upload(staff, "name,tag\n" + "Rex, \n" * 1000)

    shown = errors(page)
    assert len(shown) == 101
    assert shown[0].startswith("Line 2: ")
    assert shown[-1] == "Only the first 100 errors are shown."
    above = b'<p>Correct this and upload the file again.</p>\n<ul class="errorlist">'
    assert page.content.index(above) < page.content.index(b'name="file"')
    assert errors(staff.post(IMPORT, {"x": "y"})) == ["This field is required."]


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


def test_an_import_needs_the_permissions_to_add_and_to_change_pets_and_an_export_to_view_them(db: None) -> None:
    clients = {name: granted("view_pet", name, name=name) for name in ("add_pet", "change_pet", "view_pet")}

    for name, client in clients.items():
        for url in (IMPORT, COLUMNS, CONFIRM, EXPORT, PRINT):
            refused = url in (IMPORT, COLUMNS, CONFIRM)
            assert [send(url).status_code == 403 for send in (client.get, client.post)] == [refused] * 2, (name, url)
        page = client.get(LIST).content.decode()
        assert ('class="import_link"' in page, 'class="export_link"' in page) == (False, True)
