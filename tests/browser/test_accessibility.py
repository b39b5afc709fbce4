"""The accessibility of our pages, checked by axe-core in light and dark mode."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.test_import_export import choose
from tests.browser.test_pets import make
from tests.service import Service

pytestmark = pytest.mark.usefixtures("scheme")


def test_the_pages_of_a_visitor(page: Page) -> None:
    for url in ("/", "/admin/login/"):
        page.goto(url)
        assert_accessible(page)


def test_pages_of_pets_and_inventory_are_accessible(staff_page: Page, site: Service) -> None:
    (pet,) = make(site, {"name": "Axe", "tag": "<b>"})
    for url in urls(pet):
        staff_page.goto(url)
        assert_accessible(staff_page)


def urls(pet: str) -> Iterator[str]:
    yield "/admin/"
    for model in ("pets/pet", "store/inventoryitem"):
        yield f"/admin/{model}/?q=axe&tag=%3Cb%3E&created_from=yesterday"
        yield f"/admin/{model}/?q=axe"
        yield f"/admin/{model}/{pet}/change/"
        yield f"/admin/{model}/{pet}/history/"
    yield "/admin/pets/pet/add/"
    yield f"/admin/pets/pet/{pet}/delete/"


def test_pages_that_undo_changes_and_put_pets_back_are_accessible(staff_page: Page, site: Service, scheme: str) -> None:
    make(site, {"name": f"Trashed in {scheme} mode"})

    def act(action: str) -> None:
        staff_page.goto(f"/admin/pets/pet/?q=trashed+in+{scheme}")
        staff_page.locator("#action-toggle").check()
        staff_page.locator("select[name=action]").select_option(action)
        staff_page.get_by_role("button", name="Go").click()

    act("rename_tag")
    assert_accessible(staff_page)
    act("delete_selected")
    staff_page.get_by_role("button", name="Yes, delete 1 pet").click()
    staff_page.get_by_role("link", name="Undo", exact=True).click()
    assert_accessible(staff_page)
    audit = "/admin/audit/auditentry/"
    for url in (audit, f"{audit}?day_from=yesterday", "/admin/pets/changeset/", "/admin/pets/trashedpet/"):
        staff_page.goto(url)
        assert_accessible(staff_page)
    staff_page.get_by_role("link", name=f"Trashed in {scheme}").first.click()
    assert_accessible(staff_page)
    staff_page.get_by_role("button", name="Put this pet back").click()
    expect(staff_page.get_by_text("is back, with all its values.")).to_be_visible()


def test_forms_with_errors(staff_page: Page) -> None:
    staff_page.goto("/admin/pets/pet/add/")
    staff_page.get_by_label("Name:").fill("   ")
    staff_page.get_by_role("button", name="Save", exact=True).click()
    expect(staff_page.get_by_text("Please correct the error below.")).to_be_visible()

    assert_accessible(staff_page)


def test_pages_of_api_keys_are_accessible(staff_page: Page) -> None:
    staff_page.goto("/admin/apikeys/apikey/add/")
    assert_accessible(staff_page)
    staff_page.get_by_label("Name:").fill("Axe")
    staff_page.get_by_role("button", name="Save", exact=True).click()
    expect(staff_page.get_by_label("API key", exact=True)).to_be_visible()
    assert_accessible(staff_page)
    staff_page.get_by_role("link", name="Key settings").click()
    assert_accessible(staff_page)
    settings = staff_page.url
    for verb in ("Rotate", "Revoke"):
        staff_page.goto(settings)
        staff_page.get_by_role("link", name=verb).click()
        assert_accessible(staff_page)
    staff_page.get_by_role("button", name="Revoke").click()
    expect(staff_page.get_by_text("Revoked Axe")).to_be_visible()
    assert_accessible(staff_page)  # the list, with a message


def test_pages_of_import_and_export_are_accessible(staff_page: Page, tmp_path: Path) -> None:
    file = tmp_path / "pets.csv"
    staff_page.goto("/admin/pets/pet/export/")
    assert_accessible(staff_page)
    staff_page.goto("/admin/pets/pet/import/")
    assert_accessible(staff_page)
    choose(staff_page, file, "name,status", "Axe,lost")
    expect(staff_page.get_by_text("Nothing was imported")).to_be_visible()
    assert_accessible(staff_page)
    choose(staff_page, file, "name,status", "Axe,sold")
    expect(staff_page.get_by_role("button", name="Confirm import")).to_be_visible()
    assert_accessible(staff_page)
