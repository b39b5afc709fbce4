"""Pages that no link leads to: each is the response to a form, which is filled in here."""

import re
from base64 import b32decode
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page

from tests.sign_in.authenticator import Authenticator

_FILE = {
    "pets.csv": f"name,tag,status,created_at\nRex 2,dog,,2026-11-02T00:00:00Z\n{'W' * 255},{'M' * 255},sold,\n",
    "mistakes.csv": "name,tag\nRex, \n",
    "columns.csv": "ID;Rufname;Art;Status;Aufnahme\n1;Rex;Hund;weg;02/11/2026\n2;;Katze;;\n",
    "encoding.csv": "name;tag\nŽofie;kočka\n",
}


def show_each(page: Page, folder: Path) -> Iterator[str]:
    """Show one page after another to an administrator without a second factor, and yield the name of each."""
    yield from _pets(page)
    yield from _import(page, folder)
    yield from _keys(page)
    yield from _accounts(page)
    yield from _second_factor(page)


def _press(page: Page, button: str) -> None:
    """Press a button, and wait for the response, because a click alone waits only for the request."""
    with page.expect_navigation():
        page.locator("#content").get_by_role("button", name=button, exact=True).click()


def _choose(page: Page, url: str, action: str, *, rows: int | None = None) -> None:
    """Perform an action of a list on its first rows, or on all rows of the page."""
    page.goto(url)
    if rows is None:
        page.locator("#action-toggle").check()
    for row in range(rows or 0):
        page.locator(".action-select").nth(row).check()
    _press(page, action)


def _pets(page: Page) -> Iterator[str]:
    page.goto("/admin/pets/pet/add/")
    page.get_by_label("Name:").fill("  ")
    _press(page, "Save")
    yield "pet-with-mistakes"
    for action in ("Mark as sold", "Set tag…"):
        _choose(page, "/admin/pets/pet/", action)
        yield action
    # Not the sold ones, which the dashboard counts for the tests that share the service.
    _choose(page, "/admin/pets/pet/?status__exact=available", "Delete selected pets", rows=3)
    yield "delete-pets"
    _press(page, "Yes, delete 3 pets")
    page.goto("/admin/pets/recentchange/")
    page.get_by_role("link", name=re.compile("^Undo")).first.click()
    yield "undo"


def _import(page: Page, folder: Path) -> Iterator[str]:
    for name, text in _FILE.items():
        file = folder / name
        file.write_text(text, encoding="cp1250" if name == "encoding.csv" else "utf-8")
        page.goto("/admin/pets/pet/import/")
        page.get_by_label("File").set_input_files(file)
        _press(page, "Preview")
        yield f"import-{file.stem}"


def _keys(page: Page) -> Iterator[str]:
    page.goto("/admin/apikeys/apikey/add/")
    page.get_by_label("Name:").fill("Shop")
    _press(page, "Save")
    yield "new-key"
    page.get_by_role("link", name="Key settings").click()
    page.get_by_role("link", name="Rotate").click()
    _press(page, "Rotate")
    yield "rotated-key"
    page.get_by_role("link", name="Key settings").click()
    page.get_by_role("link", name="Revoke").click()
    yield "revoke-key"
    _press(page, "Revoke")
    yield "list-with-a-message"


def _accounts(page: Page) -> Iterator[str]:
    page.goto("/admin/accounts/account/add/")
    page.get_by_label("Username").fill("colleague")
    page.get_by_label("Pets and inventory").check()
    _press(page, "Save")
    link = page.get_by_label("Password link").input_value()
    yield "new-account"
    page.goto(link)
    page.get_by_label("New password:").fill("short")
    page.get_by_label("New password confirmation:").fill("shorter")
    _press(page, "Set password")
    yield "set-password"
    page.goto(f"{link.rstrip('/')}x/")
    yield "useless-link"


def _second_factor(page: Page) -> Iterator[str]:
    page.goto("/admin/second-factor/")
    _enter_code(page, "wrong")
    yield "second-factor-wrong-code"
    secret = b32decode(page.locator("#secret").inner_text().replace(" ", ""))
    _enter_code(page, Authenticator(secret).code())
    codes = re.findall(r"<code>([a-z2-7-]{19})</code>", page.content())
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy codes").click()
    page.get_by_text("Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").split() == codes
    yield "recovery-codes"
    page.goto("/admin/second-factor/")
    yield "second-factor"
    with page.expect_navigation():
        page.locator(".account-menu summary, .menu-button summary").locator("visible=true").click()
        page.get_by_role("button", name="Log out").locator("visible=true").click()
    page.goto("/admin/second-factor/")
    _log_in(page)
    yield "code"
    page.get_by_label("Code:").fill(codes[0])
    _log_in(page)
    _press(page, "Remove the second factor")  # for the other tests


def _enter_code(page: Page, code: str) -> None:
    page.get_by_label("Code:").fill(code)
    _press(page, "Set up")


def _log_in(page: Page) -> None:
    page.get_by_label("Username").fill("staff")
    page.get_by_label("Password").fill("a long one")
    _press(page, "Log in")
