"""The import and export of pets in a real browser."""

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

NAMES = ["Import 狗", "Import <b>", "=Import"]


def choose(page: Page, file: Path, *lines: str) -> None:
    file.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Preview").click()


def test_staff_correct_a_file_import_it_and_export_a_search(staff_page: Page, tmp_path: Path) -> None:
    file = tmp_path / "pets.csv"
    staff_page.goto("/admin/pets/pet/")
    staff_page.get_by_role("link", name="Import").click()
    choose(staff_page, file, "name,tag,status", f"{NAMES[0]},dog,", f"{NAMES[1]},,gone", f"'{NAMES[2]},,")
    expect(
        staff_page.get_by_text("Line 3: status must be one of available, pending, sold; got 'gone'.")
    ).to_be_visible()

    choose(staff_page, file, "name,tag,status", f"{NAMES[0]},dog,", f"{NAMES[1]},,sold", f"'{NAMES[2]},,")
    expect(staff_page.get_by_text("This file adds 3 pets, changes 0 and leaves 0 as they are.")).to_be_visible()
    expect(staff_page.get_by_role("cell", name=NAMES[1], exact=True)).to_be_visible()
    staff_page.get_by_role("button", name="Confirm import").click()
    expect(staff_page.get_by_text("Imported: 3 pets added, 0 changed, 0 unchanged.")).to_be_visible()

    staff_page.goto("/admin/pets/pet/?q=Import")
    for name in NAMES[:2]:
        expect(staff_page.get_by_role("link", name=name, exact=True)).to_be_visible()
    staff_page.goto("/admin/pets/pet/")
    pets = export(staff_page)
    rows = [pet for pet in pets if "Import" in pet["name"]]
    assert {pet["name"]: (pet["tag"], pet["status"]) for pet in rows} == {
        NAMES[0]: ("dog", "available"),
        NAMES[1]: ("", "sold"),
        f"'{NAMES[2]}": ("", "available"),
    }


def export(page: Page) -> list[dict[str, str]]:
    """Export the list and return the pets of the file that the browser saves."""
    page.get_by_role("link", name="Export", exact=True).click()
    page.get_by_label("Format").select_option("CSV")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    with download.value.path().open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
