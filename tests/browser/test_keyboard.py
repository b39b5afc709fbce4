"""A working day with the keyboard alone: Tab, letters, Enter and Space."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import make
from tests.service import Service


def reach(page: Page, target: Locator) -> None:
    """Press Tab until the target has the focus, or fail after many attempts."""
    expect(target).to_have_count(1)
    for _ in range(400):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {target}")


def write(page: Page, label: str, text: str) -> None:
    """Replace the content of the field with this label."""
    reach(page, page.get_by_label(label, exact=True))
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def press(page: Page, role: str, name: str | re.Pattern[str]) -> None:
    """Press the button or follow the link with this name."""
    reach(page, page.get_by_role(role, name=name, exact=isinstance(name, str)))  # type: ignore[arg-type]
    page.keyboard.press("Enter")


def test_the_search_is_reached_with_at_most_five_tabs(staff_page: Page) -> None:
    for model in ("pets/pet", "apikeys/apikey"):
        staff_page.goto(f"/admin/{model}/")
        skip = staff_page.get_by_role("link", name="Skip to search")
        for _ in range(5):
            staff_page.keyboard.press("Tab")
            if skip.evaluate("element => element === document.activeElement"):
                break
        expect(skip).to_be_in_viewport()
        staff_page.keyboard.press("Enter")
        expect(staff_page.locator("#searchbar")).to_be_focused()


def test_all_tasks_of_a_day_can_be_done_with_the_keyboard(page: Page, site: Service, tmp_path: Path) -> None:
    make(site, {"name": "Keyboard", "tag": "dog"})
    page.goto("/admin/")
    write(page, "Username:", "staff")
    write(page, "Password:", "a long one")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Dashboard", exact=True)).to_be_visible()

    # A key is created, rotated and revoked.
    page.goto("/admin/apikeys/apikey/add/")
    write(page, "Name:", "Acme's web shop")
    press(page, "button", "Save")
    for verb, result in (("Rotate", page.get_by_label("API key", exact=True)), ("Revoke", page.get_by_text("Revoked"))):
        expect(page.get_by_role("heading", name="API key created")).to_be_visible()
        press(page, "link", "Key settings")
        expect(page.get_by_label("Name:", exact=True)).to_have_value("Acme's web shop")
        press(page, "link", verb)
        expect(page.get_by_role("heading", name=re.compile(f"{verb} .*\\?"))).to_be_visible()
        press(page, "button", verb)
        expect(result.first).to_be_visible()

    # A pet is found and edited.
    page.goto("/admin/pets/pet/")
    reach(page, page.locator("#searchbar"))
    page.keyboard.type("keyb")
    page.keyboard.press("Enter")
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    press(page, "link", "Keyboard")
    expect(page.get_by_label("Tag:", exact=True)).to_be_visible()
    write(page, "Tag:", "hound")
    press(page, "button", "Save")
    expect(page.get_by_text("Tag changed from “dog” to “hound”.")).to_be_visible()

    # Its status is changed in the list, then in bulk.
    page.goto("/admin/pets/pet/?q=keyb")
    reach(page, page.locator(".status-menu summary"))
    page.keyboard.press("Enter")
    press(page, "button", "Sold")
    expect(page.get_by_text("1 pet marked as sold.")).to_be_visible()
    reach(page, page.locator("#action-toggle"))
    page.keyboard.press("Space")
    press(page, "button", "Mark as pending")
    expect(page.get_by_text("1 pet marked as pending.")).to_be_visible()

    # A file is imported.
    file = tmp_path / "pets.csv"
    file.write_text("name,status\nTyped,sold\n")
    page.goto("/admin/pets/pet/import/")
    with page.expect_file_chooser() as chooser:
        # Reaching the field inside this block gives the page time to intercept the file chooser. If the key comes
        # earlier, the browser opens a real chooser that the test cannot use.
        reach(page, page.get_by_label("File"))
        page.keyboard.press("Space")
    chooser.value.set_files(file)
    press(page, "button", "Preview")
    press(page, "button", "Confirm import")
    expect(page.get_by_text("Imported: 1 pet added, 0 changed, 0 unchanged.")).to_be_visible()
