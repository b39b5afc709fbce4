"""The lists of the admin in a real browser: rows, selection, statuses, filters and paper."""

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import box, change_window, log_in_as_staff, make
from tests.service import Service

PETS = "/admin/pets/pet/"
PHONE = {"width": 390, "height": 844}
ZOOMED = {"width": 720, "height": 450}  # a zoom of 200 % halves the size that a page has for its layout
# Minimum size of a target for a finger, in pixels.
FINGER = 40
COLOURS = "element => { const style = getComputedStyle(element); return [style.color, style.backgroundColor] }"


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


def test_a_selected_row_has_another_colour_than_each_status(staff_page: Page, site: Service) -> None:
    for pet, status in zip(make(site, *[{"name": "Shade"}] * 3), ("available", "pending", "sold"), strict=True):
        site.execute("UPDATE pets_pet SET status = %s WHERE id = %s", status, pet)
    staff_page.goto(f"{PETS}?q=shade")
    rows = staff_page.locator("#result_list tbody tr").all()
    for row in rows:
        row.locator(".action-select").check()
    for theme in ("light", "dark"):
        change_window(staff_page, 1440, 900, theme)
        for row in rows:
            _, of_row = row.evaluate(COLOURS)
            _, of_badge = row.locator(".badge").first.evaluate(COLOURS)
            assert of_row != of_badge, theme


def test_the_actions_appear_in_place_of_the_headers_while_rows_are_selected(staff_page: Page, site: Service) -> None:
    make(site, *({"name": "Chosen"} for _ in range(60)))
    staff_page.goto(f"{PETS}?q=chosen&status__exact=available")
    sell, row = staff_page.get_by_role("button", name="Mark as sold"), staff_page.locator("#result_list tbody tr").first
    expect(sell).to_be_hidden()
    before = box(row)

    row.locator(".action-select").check()
    expect(sell).to_be_visible()
    assert box(row) == before
    row.locator(".action-select").press("Enter")  # presses the first button of the form in some browsers
    expect(staff_page.get_by_text("No action selected.")).to_be_visible()
    expect(sell).to_be_hidden()
    staff_page.locator("#action-toggle").check()
    staff_page.get_by_role("button", name="Select all 60 pets").click()
    staff_page.get_by_text("Clear selection").click()
    staff_page.goto("/admin/")
    staff_page.go_back()
    expect(sell).to_be_hidden()
    for answer in ("No, take me back", "Yes, mark 60 pets as sold"):
        staff_page.locator("#action-toggle").check()
        staff_page.get_by_role("button", name="Select all 60 pets").click()
        sell.click()
        staff_page.get_by_text(answer).or_(staff_page.get_by_role("button", name=answer)).first.click()
    expect(staff_page.get_by_text("60 pets marked as sold.")).to_be_visible()
    expect(staff_page.get_by_text("0 results")).to_be_visible()


def test_the_same_pets_are_ticked_after_the_way_back_if_they_have_not_changed(staff_page: Page, site: Service) -> None:
    """Browsers would tick the rows at the same places, where other pets may be by then."""
    changed, *_ = make(site, *({"name": "Ticked", "tag": tag} for tag in ("changed", "kept", "last", "other")))
    staff_page.goto(f"{PETS}?q=ticked&o=created_at")
    boxes = staff_page.locator(".action-select")
    boxes.first.check()
    boxes.nth(2).click(modifiers=["Shift"])  # and the one between them
    site.execute("UPDATE pets_pet SET tag = 'renamed', created_at = %s WHERE id = %s", datetime.now(UTC), changed)

    for selected in (2, 0):
        staff_page.goto("/admin/")
        staff_page.go_back()
        expect(staff_page.get_by_text(f"{selected} of 4 selected")).to_have_count(1)
        expect(staff_page.locator("tr", has_text="kept").locator(".action-select")).to_be_checked(checked=selected > 0)
        staff_page.reload()  # leaves no ticks


def test_the_actions_the_statuses_and_the_menus_work_without_scripts(browser: Browser, site: Service) -> None:
    make(site, {"name": "Scriptless"})
    context = browser.new_context(base_url=site.url, java_script_enabled=False)
    log_in_as_staff(context, site)
    page = context.new_page()
    for url in (f"{PETS}print/", f"{PETS}?q=scriptless"):
        page.goto(url)
        expect(page.get_by_role("button", name=re.compile("Copy|Print"))).to_have_count(0)
    page.locator(".action-select").check()
    page.get_by_role("button", name="Mark as pending").click()
    expect(page.get_by_text("“Scriptless” marked as pending.")).to_be_visible()
    page.locator(".status-menu summary").click()
    page.locator(".status-menu").get_by_role("button", name="Sold").click()
    expect(page.get_by_text("“Scriptless” marked as sold.")).to_be_visible()
    page.locator(".action-select").check()
    page.get_by_role("button", name="Delete selected pets").click()
    page.get_by_role("link", name="No, take me back").click()
    expect(page).to_have_url(f"{site.url}{PETS}?q=scriptless")
    page.locator("#result_list tbody th a").click()
    record = page.url.partition("?")[0]
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("link", name="No, take me back").click()
    expect(page).to_have_url(record)
    page.goto("/admin/apikeys/apikey/add/")
    page.get_by_label("Name:").fill("Scriptless")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("API key", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Copy"))).to_have_count(0)
    page.locator(".account-menu summary").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_text("You are logged out.")).to_be_visible()
    context.close()


def test_a_changed_status_keeps_its_focus_in_view_whatever_others_do_meanwhile(staff_page: Page, site: Service) -> None:
    make(site, *[{"name": f"Busy {number}"} for number in range(40)])
    staff_page.set_viewport_size({"width": 320, "height": 640})
    staff_page.goto(f"{PETS}?q=busy#searchbar")
    status = staff_page.locator(".status-menu").filter(has=staff_page.locator('[title$="Busy 9"]'))
    make(site, *[{"name": "Busy"}] * 3)
    status.evaluate("element => scrollBy(0, element.getBoundingClientRect().top - 5)")
    status.locator("summary").click()
    status.get_by_role("button", name="Sold").click()
    expect(staff_page.get_by_text("“Busy 9” marked as sold.")).to_be_in_viewport()
    expect(status.locator("summary")).to_be_focused()
    message = box(staff_page.locator(".messagelist"))
    assert box(status)["y"] >= message["y"] + message["height"]

    site.execute("UPDATE pets_pet SET version = version + 1 WHERE name = %s", "Busy 9")
    status.locator("summary").click()
    status.get_by_role("button", name="Pending").click()
    expect(staff_page.get_by_text("1 pet was not changed")).to_be_in_viewport()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_pet_is_sold_from_its_status_in_the_list_and_the_sale_is_undone(
    staff_page: Page, site: Service, width: int
) -> None:
    name = f"Tap {width}"
    make(site, *[{"name": name}] * 40)
    staff_page.set_viewport_size({"width": width, "height": 844})
    staff_page.goto(f"{PETS}?q=tap+{width}&status__exact=available")
    menu = staff_page.locator(".status-menu").nth(30)
    menu.locator("summary").click()
    place = menu.bounding_box()
    sold = menu.get_by_role("button", name="Sold")
    assert box(sold)["height"] >= FINGER
    expect(menu.get_by_role("button", name="Available")).to_be_disabled()
    staff_page.keyboard.press("Escape")
    expect(sold).to_be_hidden()
    menu.locator("summary").click()
    sold.click()

    expect(staff_page).to_have_url(f"{site.url}{PETS}?q=tap+{width}&status__exact=available")
    expect(staff_page.get_by_text(f"“{name}” marked as sold.")).to_be_visible()
    expect(staff_page.locator("#result_list tbody tr")).to_have_count(39)
    expect(menu.locator("summary")).to_be_focused()
    assert menu.bounding_box() == place
    undo = staff_page.locator(".messagelist").get_by_role("button", name="Undo")
    expect(undo).to_be_in_viewport()
    sizes = [box(undo)]
    undo.click()
    expect(staff_page.locator("#result_list tbody tr")).to_have_count(40)
    menu.locator("summary").click()
    sold.click()
    expect(undo).to_be_visible()
    staff_page.goto("/admin/pets/recentchange/")
    sizes.append(box(staff_page.locator(".field-undo_link a").first))
    assert width > 390 or all(size[side] >= FINGER for size in sizes for side in ("width", "height"))


@pytest.mark.parametrize("model", ["pets/pet", "apikeys/apikey"])
def test_a_phone_shows_rows_of_two_lines_with_targets_for_fingers(staff_page: Page, site: Service, model: str) -> None:
    make(site, {"name": "Finger", "tag": "dog"})
    site.create_key()
    staff_page.goto(f"/admin/{model}/")
    row = staff_page.locator("#result_list tbody tr").first
    state = row.locator(".status-menu summary, .badge").first
    targets, parts = [row], [row.locator("[class^=field-stat]").first, row.locator("th").first]
    staff_page.set_viewport_size(ZOOMED)
    if model == "pets/pet":  # keys have no actions
        targets += [row.locator(".action-select"), state]
        parts.append(staff_page.locator("#changelist .actions").first)
        row.locator(".action-select").check()
    titles = staff_page.locator(".menu-button summary, #result_list thead .sortable")
    for size in (PHONE | {"width": 320}, ZOOMED, PHONE):
        staff_page.set_viewport_size(size)
        assert titles.evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth)"), size
        for one in map(box, parts):
            assert one["x"] + one["width"] <= size["width"], size
            assert one["y"] + one["height"] <= size["height"], size
        margins = box(staff_page.locator("#content"))["width"] - box(staff_page.locator("#changelist"))["width"]
        assert margins == 2 * 16, size
    assert box(staff_page.locator("#header"))["height"] < 60
    assert box(row)["y"] < PHONE["height"] / 2
    assert all(box(target)["height"] >= FINGER and box(target)["width"] >= FINGER for target in targets)

    end = box(row)
    staff_page.mouse.click(end["x"] + end["width"] / 2, end["y"] + end["height"] - 3)  # beside all texts
    expect(staff_page).to_have_url(re.compile(f"/admin/{model}/[^/]+/change/"))


def test_a_line_opens_and_closes_the_filters_of_a_phone(staff_page: Page) -> None:
    staff_page.set_viewport_size(PHONE)
    staff_page.goto(f"{PETS}?status__exact=sold&created_from=2026-01-01")
    field, clear = staff_page.get_by_label("Created to"), staff_page.get_by_role("link", name="All pets")
    expect(field).to_be_hidden()
    expect(clear).to_be_visible()

    staff_page.locator(".filter-switch summary").click()
    expect(field).to_be_visible()
    staff_page.set_viewport_size({"width": 1440, "height": 900})
    expect(staff_page.locator(".filter-switch")).to_be_hidden()


def test_the_bulk_bar_stays_in_view(staff_page: Page, site: Service) -> None:
    make(site, *({"name": "Bulk"} for _ in range(50)))
    staff_page.goto(f"{PETS}?q=bulk")
    for size in ({"width": 1440, "height": 900}, PHONE, ZOOMED):
        staff_page.set_viewport_size(size)
        for row in (0, 25, 49):
            staff_page.locator(".action-select").nth(row).check()
            shown = box(staff_page.locator("#changelist .actions .button:not([hidden])").first)
            assert 0 <= shown["y"] <= size["height"] - shown["height"], (size, row)
            staff_page.locator(".action-select").nth(row).uncheck()


def test_a_phone_and_text_of_twice_the_size_have_the_links_of_the_account_in_the_menu(staff_page: Page) -> None:
    text = staff_page.context.new_cdp_session(staff_page)
    link = staff_page.get_by_role("link", name="Change password")
    for width, size in ((390, 16), (1440, 32), (390, 32)):
        text.send("Page.setFontSizes", {"fontSizes": {"standard": size}})
        staff_page.set_viewport_size({"width": width, "height": 844})
        staff_page.goto(PETS)
        assert staff_page.evaluate("document.documentElement.scrollWidth") == width
        expect(link).to_have_count(0)
        staff_page.get_by_text("Menu", exact=True).click()
        expect(link).to_be_visible()
        staff_page.mouse.click(20, 600)
        expect(link).to_have_count(0)


def test_a_long_name_keeps_its_direction_and_the_size_of_the_link_to_its_history(
    staff_page: Page, site: Service
) -> None:
    make(site, {"name": f"سيمبا {'Junior ' * 20}"})
    staff_page.goto(f"{PETS}?q=junior")

    link = staff_page.locator("#result_list tbody th a")
    assert box(staff_page.get_by_role("link", name=re.compile("^History of")))["height"] >= 24
    expect(link).to_have_css("unicode-bidi", "plaintext")
    # The names of accounts and keys are in other columns, and beside the fields.
    expect(staff_page.locator(".field-created_by_key")).to_have_css("unicode-bidi", "plaintext")
    link.click()
    expect(staff_page.locator(".field-created_by_key .readonly")).to_have_css("unicode-bidi", "plaintext")


def test_paper_has_the_title_the_filters_the_rows_and_their_number_only(staff_page: Page, site: Service) -> None:
    make(site, {"name": f"Paper {'W' * 249}"}, *({"name": "Paper", "tag": "sheet"} for _ in range(59)))
    staff_page.emulate_media(media="print")
    staff_page.set_viewport_size({"width": 700, "height": 1000})  # the width of a sheet without its margins
    staff_page.goto(f"{PETS}?q=paper&status__exact=available")
    expect(staff_page.locator(".printed")).to_have_text("Search “paper”, Status “Available”")
    expect(staff_page.locator(".printed")).to_be_visible()
    expect(staff_page.locator(".paginator")).to_have_text(re.compile("60 pets"))
    expect(staff_page.get_by_role("columnheader", name="Name")).to_be_visible()
    for hidden in ("#header", "#nav-sidebar", "#toolbar", ".object-tools", ".action-select", ".paginator a"):
        expect(staff_page.locator(hidden).first).to_be_hidden()
    assert staff_page.evaluate("document.documentElement.scrollWidth") == 700

    staff_page.emulate_media(media="screen")
    staff_page.set_viewport_size({"width": 1440, "height": 900})
    staff_page.get_by_role("link", name="Print", exact=True).click()
    expect(staff_page.locator("tbody tr")).to_have_count(60)
    for media in ("print", "screen"):
        staff_page.emulate_media(media=media)
        assert box(staff_page.get_by_role("row").nth(1))["height"] < 40, "a long name leaves the times on one line"
    expect(staff_page.get_by_text("60 pets: Search “paper”, Status “Available”.")).to_be_visible()
    staff_page.evaluate("() => { window.print = () => { document.title = 'printed' } }")
    staff_page.get_by_role("button", name="Print").click()
    expect(staff_page).to_have_title("printed")


def test_the_filter_by_tag_suggests_tags_and_a_key_leads_to_the_search(staff_page: Page, site: Service) -> None:
    make(site, *({"name": "Tagged", "tag": tag} for tag in ("Żuk-1", "żuk-2", "Żuk-2", "other")), {"name": "Else"})
    staff_page.goto("/admin/pets/pet/?q=tagged")
    field = staff_page.get_by_label("Tag", exact=True)
    field.press_sequentially("ŻUK")
    expect(staff_page.locator("datalist option")).to_have_count(2)

    field.fill("żuk-2")
    staff_page.locator("form", has=field).get_by_role("button", name="Filter").click()

    expect(staff_page.locator("#result_list tbody tr")).to_have_count(2)
    expect(staff_page.locator("#searchbar")).to_have_value("tagged")
    staff_page.get_by_role("link", name="All pets").click()
    expect(staff_page.locator("#searchbar")).to_have_value("")
    staff_page.keyboard.press("/")
    staff_page.keyboard.type("else")
    staff_page.keyboard.press("Enter")
    expect(staff_page.locator("#result_list tbody tr")).to_have_count(1)
