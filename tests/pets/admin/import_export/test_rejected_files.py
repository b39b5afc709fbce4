"""The files that the import page of the admin rejects."""

import re
from typing import Any

import pytest
from django.test import Client

from pets.admin.changes.import_pages import MAX_BYTES
from pets.admin.lists.export_page import MAX_ROWS
from pets.models import Pet, Upload
from tests.pets.admin.import_export.import_pages import IMPORT, upload

ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def errors(page: Any) -> list[str]:
    (text,) = re.findall(r'<ul class="errorlist".*?</ul>', page.content.decode(), re.DOTALL)
    return re.findall(r"<li>(.*?)</li>", text, re.DOTALL)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("name,tag\nRex,dog\nTom," + "x" * 300, "pets.csv", "Line 3: tag must have at most 255 characters; got 300."),
        (
            "name\nRené\n".encode("utf-16-le"),
            "pets.csv",
            "Line 1: the text is not UTF-8: save the file in this encoding",
        ),
        (f"id,name\n{ID},Rex\n,Tom\n{ID},Mia\n", "pets.csv", "Line 4: Duplicate ID: also on line 2."),
        ("name\n\n", "pets.csv", "There are no pets in this file."),
        ("", "pets.csv", "The submitted file is empty."),
        ("[]", "pets.json", "There are no pets in this file."),
        ('[{"name": "Rex"},\n{"name": ""}]', "pets.json", "Line 2: name is required."),
        ("[" * 100_000, "pets.json", "Line 1: the JSON is nested too deeply."),
        ("PK\x03\x04", "pets.ods", "The file name must end with .xlsx, .tsv, .txt, .csv, .json, .jsonl, .ndjson."),
        ("name\nRex\n", "pets", "The file name must end with"),
        ("name\n" + "Rex\n" * (MAX_ROWS + 1), "pets.csv", "The file has more than 10,000 pets."),
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


def test_only_the_first_hundred_errors_are_shown(staff: Client) -> None:
    shown = errors(upload(staff, "name,tag\n" + "Rex, \n" * 1000))

    assert len(shown) == 101
    assert shown[0].startswith("Line 2: ")
    assert shown[-1] == "Only the first 100 errors are shown."


def test_a_form_without_a_file_is_rejected(staff: Client) -> None:
    assert errors(staff.post(IMPORT, {"x": "y"})) == ["This field is required."]
