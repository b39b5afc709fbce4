"""The export of the list of pets."""

import csv
import io
import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from openpyxl import load_workbook

from pets.admin.changes.import_pages import MAX_BYTES
from pets.admin.lists import export_page
from pets.admin.lists.export_page import MAX_ROWS
from pets.models import Pet
from pets.services import create_pet
from petservice.admin_pages import bounded_paginator
from petservice.journal.models import Event
from tests.pets.admin.import_export.import_pages import CSV, EXPORT, JSON, LIST, exported, upload


def test_the_list_is_exported_as_csv_for_spreadsheets(staff: Client) -> None:
    pet = create_pet(name="狗 =1", tag="=1+1", created_by="key pets_live_1 Acme")

    response = exported(staff)

    assert response["Content-Type"] == "text/csv"
    assert re.fullmatch(r'attachment; filename="pets-\d{4}-\d\d-\d\d\.csv"', response["Content-Disposition"])
    assert response.content.startswith("\ufeffid,name".encode())
    (row,) = csv.DictReader(io.StringIO(response.content.decode("utf-8-sig")))
    assert row == {
        "id": pet.pk,
        "name": "狗 =1",
        "tag": "'=1+1",
        "status": "available",
        "created_at": pet.created_at.isoformat(),
        "sold_at": "",
    }


def test_the_list_is_exported_as_json(staff: Client) -> None:
    pet = create_pet(name="=1")

    response = exported(staff, JSON)

    assert response["Content-Type"] == "application/json"
    assert json.loads(response.content) == [
        {
            "id": pet.pk,
            "name": "=1",
            "tag": None,
            "status": "available",
            "created_at": pet.created_at.isoformat(),
            "sold_at": None,
        }
    ]


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


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("?tag=rabbit&status__exact=available", "rabbit-available-"),
        ("?q=Rex%0A/../x&tag=Wei%C3%9F+%22%3B", "rex-x-weiß-"),
        ("?created_from=2026-11-25", "pets-"),
        ("?q=" + "x" * 300, "x" * 60 + "-"),
    ],
)
def test_the_name_of_the_file_says_what_it_has(staff: Client, query: str, name: str) -> None:
    disposition = exported(staff, "xlsx", query)["Content-Disposition"]

    assert re.search(re.escape(quote(name)) + r"\d{4}-\d\d-\d\d\.xlsx\"?$", disposition)


@pytest.mark.parametrize(("file_format", "name"), [(CSV, "pets.csv"), (JSON, "pets.json")])
def test_importing_an_export_changes_nothing(staff: Client, file_format: str, name: str) -> None:
    for text in ("=1", "'=1", 'Rex "the\r\ndog", first', " a ", "狗", "Rex;=1", "Rex,'\t\"=1"):
        create_pet(name=text, tag=text)
    Pet.objects.create(name="Rex", status="sold", sold_at=datetime(2026, 11, 1, tzinfo=UTC))
    content = exported(staff, file_format).content

    page = upload(staff, content, name)

    assert "This file changes nothing: its 8 pets are like that already." in page.content.decode()
    assert b"2026-11-01T00:00:00+00:00" in content


@pytest.mark.parametrize("file_format", [CSV, JSON])
@pytest.mark.parametrize("character", ['"', "\x01", "🐕"], ids=["quote", "control character", "beyond the BMP"])
def test_the_largest_export_is_no_larger_than_an_import(staff: Client, file_format: str, character: str) -> None:
    text = "'" + character * 254
    Pet.objects.bulk_create(Pet(name=text, tag=text) for _ in range(10))

    assert len(exported(staff, file_format).content) / 10 * MAX_ROWS < MAX_BYTES


@pytest.mark.long
def test_as_many_pets_as_are_exported_are_imported(staff: Client) -> None:
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(MAX_ROWS))

    page = upload(staff, exported(staff).content)

    assert f"This file changes nothing: its {MAX_ROWS:,} pets are like that already." in page.content.decode()


def test_an_export_has_the_pets_of_the_filtered_list(staff: Client) -> None:
    create_pet(name="Rex")
    create_pet(name="Tom")
    Pet.objects.create(name="Rexi", status="sold")

    assert f'href="{EXPORT}?q=Rex"' in staff.get(LIST, {"q": "Rex"}).content.decode()
    names = [pet["name"] for pet in json.loads(exported(staff, JSON, "?q=Rex&status__exact=available").content)]
    assert names == ["Rex"]


def test_the_export_page_shows_the_number_of_pets_and_the_filter(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", tag="rabbit", status="pending") for _ in range(3))

    page = staff.get(f"{EXPORT}?tag=rabbit&status__exact=pending").content.decode()
    assert "Download 3 pets (status pending, tag “<bdi>rabbit</bdi>”)." in page
    assert "Download 3 pets." in staff.get(EXPORT).content.decode()
    monkeypatch.setattr(bounded_paginator, "MAX_COUNTED", 2)
    page = staff.get(EXPORT).content.decode()
    assert "Filter it, or ask your administrator to use the export_pets command." in page
    assert "Download" not in page


def test_an_empty_list_is_exported(staff: Client) -> None:
    assert json.loads(exported(staff, JSON).content) == []
    assert exported(staff).content.decode("utf-8-sig") == "id,name,tag,status,created_at,sold_at\r\n"


def test_a_list_over_the_limit_is_not_exported(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_page, "MAX_ROWS", 3)
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(4))

    with CaptureQueriesContext(connection) as queries:
        response = exported(staff)

    assert "The list has more than 10,000 pets." in response.content.decode()
    assert "export_pets" in response.content.decode()
    assert [query["sql"] for query in queries if "LIMIT 4" in query["sql"]]


def test_an_export_is_in_the_audit_with_its_filter_and_number(staff: Client) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in ("sold", "sold", "pending"))

    exported(staff, query="?status__exact=sold")

    entry = Event.objects.get(kind="exported")
    assert (entry.account_name, entry.record_type, entry.count) == ("jo", "pets.pet", 2)
    assert entry.message == "Exported as CSV. Filter: status sold."
