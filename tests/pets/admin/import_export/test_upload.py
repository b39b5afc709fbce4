"""The page that uploads a file of pets: who may use it, the files that it rejects, and its templates."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles.finders import find
from django.test import Client

from pets.admin.changes.import_pages import MAX_BYTES
from pets.admin.lists.export_page import MAX_ROWS
from pets.models import Pet, Upload
from tests.backoffice.staff import granted
from tests.pets.admin.import_export.import_pages import (
    COLUMNS,
    CONFIRM,
    EXPORT,
    IMPORT,
    IMPORTER,
    LIST,
    cells,
    exported,
    stored,
    upload,
)
from tests.pets.workbooks import workbook

pytestmark = pytest.mark.once

ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def errors(page: Any) -> list[str]:
    (text,) = re.findall(r'<ul class="errorlist".*?</ul>', page.content.decode(), re.DOTALL)
    return re.findall(r"<li>(.*?)</li>", text, re.DOTALL)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("name,tag\nRex,dog\nTom," + "x" * 300, "pets.csv", "Line 3: tag must have at most 255 characters; got 300."),
        (f"id,name\n{ID},Rex\n,Tom\n{ID},Mia\n", "pets.csv", "Line 4: Duplicate ID: also on line 2."),
        ("name\n\n", "pets.csv", "There are no pets in this file."),
        # A column of so many words has something else than statuses, so that no question is asked about it.
        ("name,status\n" + "".join(f"Rex,word {n}\n" for n in range(31)), "pets.csv", "Line 2: status must be one of"),
        ("", "pets.csv", "The submitted file is empty."),
        ("[]", "pets.json", "There are no pets in this file."),
        ("PK\x03\x04", "pets.ods", "The file name must end with .xlsx, .tsv, .txt, .csv, .json, .jsonl, .ndjson."),
        ("name\nRex\n", "pets", "The file name must end with"),
        ("name\n" + "Rex\n" * (MAX_ROWS + 1), "pets.csv", "The file has more than 10,000 pets."),
        (b"name\nRex\n", "pets.xlsx", "The file is no workbook that can be read"),
        (workbook([["Name", "Art"]]), "pets.xlsx", "There are no pets in this file."),
        (workbook([["column"] * 200, ["x"] * 200]), "pets.xlsx", "Line 1: more than 60 columns: delete all but"),
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
    assert page.content.index(b'class="errorlist"') < page.content.index(b'name="file"')
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


@pytest.mark.parametrize(
    ("permissions", "may_import", "may_export"),
    [
        (IMPORTER, True, True),
        (("view_pet", "add_pet"), False, True),
        (("view_pet", "change_pet"), False, True),
        (("view_pet",), False, True),
        ((), False, False),
    ],
)
def test_import_and_export_need_permissions(
    db: None, permissions: tuple[str, ...], may_import: bool, may_export: bool
) -> None:
    client = granted(*permissions)

    assert (client.get(IMPORT).status_code == 200) is may_import
    assert (upload(client, "name\nRex\n").status_code == 200) is may_import
    assert (client.post(CONFIRM, {}).status_code == 302) is may_import
    assert (client.get(COLUMNS).status_code == 200) is may_import
    assert (client.get(EXPORT).status_code == 200) is may_export
    assert (exported(client).status_code == 200) is may_export
    if may_export:
        page = client.get(LIST).content.decode()
        assert ('class="import_link"' in page) is may_import
        assert 'class="export_link"' in page
