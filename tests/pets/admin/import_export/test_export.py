"""The list of pets as a file, and on a page for paper."""

import io
import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from openpyxl import load_workbook

from pets.admin.changes.import_pages import MAX_BYTES
from pets.admin.lists import export_page
from pets.models import Pet
from petservice.admin_pages import bounded_paginator
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.journal.models import Event
from tests.backoffice.pages import csv_rows
from tests.pets.admin.import_export.import_pages import CSV, EXPORT, JSON, LIST, PRINT, exported, upload

pytestmark = pytest.mark.once


def test_the_list_is_exported_as_csv_for_spreadsheets_and_as_json(staff: Client) -> None:
    assert exported(staff).content.decode("utf-8-sig") == "id,name,tag,status,created_at,sold_at\r\n"
    assert json.loads(exported(staff, JSON).content) == []
    pet = Pet.objects.create(name="狗 =1", tag="=1+1", created_by="key pets_live_1 Acme")

    response = exported(staff)

    assert response["Content-Type"] == "text/csv"
    assert re.fullmatch(r'attachment; filename="pets-\d{4}-\d\d-\d\d\.csv"', response["Content-Disposition"])
    assert response.content.startswith("\ufeffid,name".encode())
    (row,) = csv_rows(response)
    values = {"id": pet.pk, "name": "狗 =1", "status": "available", "created_at": pet.created_at.isoformat()}
    assert row == values | {"tag": "'=1+1", "sold_at": ""}
    response = exported(staff, JSON)
    assert response["Content-Type"] == "application/json"
    assert json.loads(response.content) == [values | {"tag": "=1+1", "sold_at": None}]


def test_the_list_is_exported_as_a_workbook_with_local_times_and_without_formulas(staff: Client, settings: Any) -> None:
    settings.STORE_TIME_ZONE = ZoneInfo("Asia/Kolkata")
    at = datetime(2026, 11, 25, 20, 30, 5, 77, tzinfo=UTC)
    local = datetime(2026, 11, 26, 2, 0, 5, tzinfo=UTC).replace(tzinfo=None)  # workbooks have no time zones
    Pet.objects.create(name="=1+1", created_at=at)
    Pet.objects.create(name="Re\x0bx\uffff", tag="'@1", status="sold", created_at=at, sold_at=at)

    response = exported(staff, "xlsx")

    sheet = load_workbook(io.BytesIO(response.content)).active
    assert [*sheet.values] == [
        ("Name", "Tag", "Status", "Created at", "Sold at"),
        ("Re�x�", "''@1", "sold", local, local),
        ("=1+1", None, "available", local, None),
    ]
    assert {cell.data_type for cell in sheet["A"]} == {"s"}


def test_the_name_of_the_file_says_what_it_has(staff: Client) -> None:
    for query, name in (
        ("?tag=rabbit&status__exact=available", "rabbit-available-"),
        ("?q=Rex%0A/../x&tag=Wei%C3%9F+%22%3B", "rex-x-weiß-"),
        ("?created_from=2026-11-25", "pets-"),
        ("?q=" + "x" * 300, "x" * 60 + "-"),
        ("?q=" + quote("㎏") * 60, "kg" * 30 + "-"),
    ):
        disposition = exported(staff, "xlsx", query)["Content-Disposition"]
        assert re.search(re.escape(quote(name)) + r"\d{4}-\d\d-\d\d\.xlsx\"?$", disposition), query


@pytest.mark.parametrize(("file_format", "name"), [(CSV, "pets.csv"), (JSON, "pets.json")])
def test_importing_an_export_of_as_many_pets_as_possible_changes_nothing(
    staff: Client, file_format: str, name: str
) -> None:
    texts = ("=1", "'=1", 'Rex "the\r\ndog", first', " a ", "狗", "Rex;=1", "Rex,'\t\"=1")
    Pet.objects.bulk_create(Pet(name=texts[number % len(texts)], tag="=1") for number in range(MAX_COUNTED - 1))
    Pet.objects.create(name="Rex", status="sold", sold_at=datetime(2026, 11, 1, tzinfo=UTC))
    content = exported(staff, file_format).content

    page = upload(staff, content, name)

    assert f"This file changes nothing: its {MAX_COUNTED:,} pets are like that already." in page.content.decode()
    assert b"2026-11-01T00:00:00+00:00" in content


def test_the_largest_export_is_no_larger_than_an_import(staff: Client) -> None:
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(10))
    for character in ('"', "\x01", "🐕"):
        text = "'" + character * 254
        Pet.objects.update(name=text, tag=text)
        for file_format in (CSV, JSON):
            assert len(exported(staff, file_format).content) / 10 * MAX_COUNTED < MAX_BYTES, character


def test_the_export_page_and_the_audit_show_the_number_of_pets_and_the_filter(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", tag="rabbit", status="pending") for _ in range(3))

    page = staff.get(f"{EXPORT}?tag=rabbit&status__exact=pending").content.decode()
    assert "Download 3 pets (Status “<bdi>Pending</bdi>”, Tag “<bdi>rabbit</bdi>”)." in page
    assert "Download 3 pets." in staff.get(EXPORT).content.decode()
    assert f'href="{EXPORT}?q=Rex"' in staff.get(LIST, {"q": "Rex"}).content.decode()
    exported(staff, query="?status__exact=pending")
    entry = Event.objects.get(kind="exported")
    assert (entry.account_name, entry.record_type, entry.count) == ("admin", "pets.pet", 3)
    assert entry.message == "Exported as CSV. Filter: Status “Pending”."
    monkeypatch.setattr(bounded_paginator, "MAX_COUNTED", 2)
    for response in (staff.get(EXPORT), staff.post(EXPORT, {"format": "csv"})):
        page = response.content.decode()
        assert "Filter it, or ask your administrator to use the export_pets command." in page
        assert "Download" not in page
    invalid = staff.post(f"{EXPORT}?created_from=yesterday", {"format": "csv"})
    assert "A filter of the list is invalid" in invalid.content.decode()
    assert Event.objects.filter(kind="exported").count() == 1


def test_a_page_for_paper_has_all_pets_of_the_list_in_its_order_or_says_that_it_is_cut(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pet.objects.bulk_create(Pet(name=f"Rex {number:02}", tag="dog") for number in range(70))
    Pet.objects.create(name="Tom", created_by="key Secret")

    def names(page: str) -> list[str]:
        return re.findall(r'<th scope="row"><bdi>([^<]*)</bdi></th>', page)

    page = staff.get(PRINT, {"tag": "DOG", "o": "name"}).content.decode()
    assert names(page) == [f"Rex {number:02}" for number in range(70)]
    assert "70 pets: Tag “<bdi>DOG</bdi>”." in page
    assert f'href="{LIST}?o=name&amp;tag=DOG"' in page
    assert f'href="{PRINT}?tag=DOG"' in staff.get(LIST, {"tag": "DOG"}).content.decode()
    monkeypatch.setattr(export_page, "MAX_PRINTED", 2)
    page = staff.get(PRINT).content.decode()
    assert names(page) == ["Tom", "Rex 69"]
    assert "71 pets." in page
    assert "Only the first 2 are on this page." in page
    assert "Secret" not in page
    assert "0 pets: An invalid filter" in staff.get(f"{PRINT}?sold_from=2026-11-03&sold_to=2026-11-02").content.decode()
