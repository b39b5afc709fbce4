"""The forms and the frame of the admin in a real browser, and what their pages copy."""

import re
from pathlib import Path

from playwright.sync_api import Dialog, Page, expect

from tests.browser.conftest import box, make
from tests.browser.test_lists import COLOURS
from tests.service import Service


def test_leaving_a_form_with_unsaved_input_asks_first(staff_page: Page, site: Service) -> None:
    (pet,) = make(site, {"name": "Unsaved form"})
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    staff_page.on("dialog", stay)
    forms = {
        **{"pets/pet/add/": "Tag:", "apikeys/apikey/add/": "Name:", "accounts/account/add/": "Full name:"},
        **{"auth/group/add/": "Name:", f"pets/pet/{pet}/change/": "Tag:"},
    }
    for url, label in forms.items():
        staff_page.goto(f"/admin/{url}")
        field = staff_page.get_by_label(label, exact=True)
        field.fill("typed")
        staff_page.locator("#nav-sidebar").get_by_role("link", name="Trash").click()
        expect(field).to_have_value("typed")
        assert asked == ["beforeunload"], url

        field.fill("")
        staff_page.locator("#nav-sidebar").get_by_role("link", name="Trash").click()
        expect(staff_page).to_have_url(re.compile("/trashedpet/"))
        assert asked == ["beforeunload"], url
        asked.clear()
    staff_page.goto("/admin/auth/user/1/change/")
    staff_page.locator("#id_groups_from option").first.dblclick()
    staff_page.locator("#nav-sidebar").get_by_role("link", name="Trash").click()
    expect(staff_page).to_have_url(re.compile("/auth/user/1/"))
    assert asked == ["beforeunload"], "the chosen groups"


def test_a_form_that_is_saved_after_the_back_button_adds_nothing_again_and_overwrites_nothing(
    staff_page: Page, site: Service
) -> None:
    staff_page.on("dialog", Dialog.accept)
    save = staff_page.get_by_role("button", name="Save", exact=True)
    for url, last, message in (
        ("pets/pet/add/", "Tag:", "was sent already"),
        ("apikeys/apikey/add/", "Name:", "was already submitted"),
    ):
        staff_page.goto(f"/admin/{url}")
        staff_page.get_by_label("Name:").fill("Only once")
        staff_page.get_by_label(last).fill("Only once")
        save.click()
        expect(save).to_have_count(0)
        staff_page.go_back()
        expect(staff_page.get_by_label("Name:")).to_have_value("Only once")
        save.click()
        expect(staff_page.get_by_text(message)).to_be_visible()
    staff_page.goto("/admin/pets/pet/add/?tag=twin&status=available")
    for _ in range(2):  # the page that follows has the same URL and another form
        staff_page.get_by_label("Name:").fill("Twin")
        staff_page.get_by_role("button", name="Save and add another").click()
        expect(staff_page.get_by_text("“Twin” added.")).to_be_visible()
        expect(staff_page.get_by_label("Name:")).to_have_value("")

    (pet,) = make(site, {"name": "Shared"})
    staff_page.goto(f"/admin/pets/pet/{pet}/change/")
    staff_page.get_by_label("Name:").fill("Mine")
    staff_page.goto("/admin/")
    site.execute("UPDATE pets_pet SET name = 'Theirs' WHERE id = %s", pet)
    staff_page.go_back()
    expect(staff_page.get_by_label("Name:")).to_have_value("Mine")
    save.click()
    expect(staff_page.get_by_text("Their value: Theirs")).to_be_visible()


def test_a_form_after_the_back_button_takes_a_saved_change_back_and_after_a_reload_it_is_another_form(
    staff_page: Page, site: Service
) -> None:
    staff_page.on("dialog", Dialog.accept)
    save, name = staff_page.get_by_role("button", name="Save", exact=True), staff_page.get_by_label("Name:")
    (pet,) = make(site, {"name": "Before", "tag": "old"})
    staff_page.goto(f"/admin/pets/pet/{pet}/change/")
    for text in ("After", "Before"):
        name.fill(text)
        save.click()
        expect(save).to_have_count(0)
        assert site.execute("SELECT name FROM pets_pet WHERE id = %s", pet) == [(text,)]
        staff_page.go_back()
        expect(name).to_have_value(text)

    name.fill("Mine")
    staff_page.goto("/admin/")
    site.execute("UPDATE pets_pet SET tag = 'first' WHERE id = %s", pet)
    staff_page.go_back()
    expect(staff_page.get_by_label("Tag:")).to_have_value("first")
    site.execute("UPDATE pets_pet SET tag = 'second' WHERE id = %s", pet)
    save.click()
    expect(staff_page.get_by_text("That change was kept.")).to_be_visible()
    assert site.execute("SELECT name, tag FROM pets_pet WHERE id = %s", pet) == [("Mine", "second")]

    staff_page.goto("/admin/pets/pet/add/")
    for _ in range(2):
        name.fill("Double")
        save.click()
        expect(staff_page.get_by_text("“Double” added.")).to_be_visible()
        staff_page.go_back()
        expect(name).to_have_value("Double")
        name.press("End")  # the browser asks about unsaved input only after a gesture
        staff_page.reload()
        expect(name).to_have_value("")


def test_saving_a_form_and_sending_a_wrong_one_again_ask_nothing(staff_page: Page) -> None:
    staff_page.on("dialog", Dialog.dismiss)
    staff_page.goto("/admin/pets/pet/add/")
    staff_page.get_by_label("Tag:").fill("rare")
    for name, url in (("  ", "/admin/pets/pet/add/$"), ("Rex", "/admin/pets/pet/$")):
        staff_page.get_by_label("Name:").fill(name)
        staff_page.get_by_role("button", name="Save", exact=True).click()
        expect(staff_page).to_have_url(re.compile(url))
        expect(staff_page.locator(".errornote, .messagelist .success").first).to_be_visible()


def test_the_menu_and_the_title_have_the_same_place_on_every_page(staff_page: Page, site: Service) -> None:
    (pet,) = make(site, {"name": "Still"})
    pages = ("", "help/", "pets/pet/", f"pets/pet/{pet}/change/", "apikeys/apikey/", "journal/event/")
    places = set()
    for page in pages:
        staff_page.goto(f"/admin/{page}")
        menu, title = box(staff_page.locator("#nav-sidebar .menu")), box(staff_page.locator("#content > h1"))
        places.add((menu["x"], menu["y"], title["x"], round(title["y"])))
        for button in staff_page.locator(".object-tools a").all()[:1]:
            places.add(("button", box(button)["y"]))

    assert len(places) == 2, places


def test_a_form_is_as_wide_as_its_fields_with_the_facts_beside_or_below_them(staff_page: Page, site: Service) -> None:
    (pet,) = make(site, {"name": "Factual"})
    content = "selector => getComputedStyle(document.querySelector(selector), '::after').content"
    staff_page.goto(f"/admin/pets/pet/{pet}/change/")
    fields, facts = staff_page.locator(".fields-to-edit"), staff_page.locator(".facts-beside")
    expect(facts).to_contain_text(pet)
    assert staff_page.evaluate(content, "label[for=id_tag]") == '"optional"'
    assert staff_page.evaluate(content, "label[for=id_name]") != '"optional"'
    assert box(facts)["y"] == box(fields)["y"]
    assert box(facts)["x"] > box(fields)["x"] + box(fields)["width"]

    staff_page.set_viewport_size({"width": 390, "height": 844})
    assert box(facts)["y"] > box(fields)["y"] + box(fields)["height"]
    staff_page.set_viewport_size({"width": 1440, "height": 900})
    staff_page.goto(f"/admin/pets/pet/{pet}/delete/")
    assert box(staff_page.locator(".facts"))["width"] == box(staff_page.locator("#content > form"))["width"]
    staff_page.goto("/admin/pets/pet/add/")
    assert box(staff_page.locator("fieldset"))["width"] <= 720
    names = staff_page.get_by_label("Name:")
    names.fill("Rex\n" * 8)
    assert names.evaluate("field => field.scrollHeight - field.clientHeight") == 0, "all of them can be seen"


def test_the_page_of_a_revoked_key_has_no_help_with_fields(staff_page: Page, site: Service) -> None:
    site.create_key()
    (key,) = site.execute("SELECT max(id) FROM apikeys_apikey")[0]
    staff_page.goto(f"/admin/apikeys/apikey/{key}/change/")
    expect(staff_page.get_by_text("Leave empty for no expiry.")).to_be_visible()
    site.execute("UPDATE apikeys_apikey SET revoked_at = created_at WHERE id = %s", key)
    staff_page.reload()
    expect(staff_page.get_by_text("Acme").first).to_be_visible()
    expect(staff_page.locator("form .help").locator("visible=true")).to_have_count(0)


def test_a_preview_of_unchanged_pets_fits_a_phone(staff_page: Page, site: Service, tmp_path: Path) -> None:
    (pet,) = make(site, {"name": "Same", "tag": "dog"})
    file = tmp_path / "pets.csv"
    file.write_text(f"id,name,tag,status,created_at\n{pet},Same,dog,in cage 4,2026-11-02T00:00:00Z\n")
    staff_page.set_viewport_size({"width": 390, "height": 844})
    staff_page.goto("/admin/pets/pet/import/")
    staff_page.get_by_label("File").set_input_files(file)
    staff_page.get_by_role("button", name="Preview").click()
    staff_page.get_by_label("status", exact=True).select_option("Leave out")  # and its words need no answer
    staff_page.get_by_role("button", name="Preview").click()
    staff_page.get_by_text("Show 1 unchanged").click()
    assert staff_page.evaluate("document.documentElement.scrollWidth") == 390


def test_all_choices_have_the_colour_of_the_service(staff_page: Page) -> None:
    staff_page.goto("/admin/accounts/account/add/")
    link = staff_page.locator(".breadcrumbs a").first.evaluate(COLOURS)[0]
    expect(staff_page.get_by_role("radio").first).to_have_css("accent-color", link)


# What is copied and pasted.


def copied(page: Page, name: str) -> str:
    """Press the button with this name, and return what it has copied."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name=name)
    button.click()
    expect(button.locator("xpath=following-sibling::*[1]")).to_have_text("Copied.")
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_links_keys_and_commands_are_copied_and_a_key_is_shown_once_also_after_a_double_click(
    staff_page: Page, site: Service
) -> None:
    make(site, {"name": "Rex", "tag": "otter"})
    staff_page.goto("/admin/pets/pet/?tag=otter")
    assert copied(staff_page, "Copy link") == f"{site.url}/admin/pets/pet/?tag=otter"

    staff_page.goto("/admin/accounts/account/add/")
    staff_page.get_by_label("Username").fill("eve")
    staff_page.get_by_label("Pets and inventory").check()
    staff_page.get_by_role("button", name="Save", exact=True).click()
    link = staff_page.get_by_label("Password link").input_value()
    assert copied(staff_page, "Copy link") == link

    staff_page.goto("/admin/apikeys/apikey/add/")
    staff_page.get_by_label("Name:").fill("Copied")
    staff_page.get_by_role("button", name="Save", exact=True).dblclick(delay=10)
    plain = staff_page.get_by_label("API key", exact=True).input_value()
    assert copied(staff_page, "Copy key") == plain
    assert copied(staff_page, "Copy command") == f"curl -H 'X-API-Key: {plain}' {site.url}/v1/pets"
    staff_page.reload()
    expect(staff_page.get_by_text("A key is shown only once")).to_be_visible()
    staff_page.go_back()
    assert plain not in staff_page.content()


def test_a_key_that_is_pasted_into_the_search_does_not_get_into_the_url(staff_page: Page, site: Service) -> None:
    plain = site.create_key()
    staff_page.goto("/admin/apikeys/apikey/")
    staff_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    staff_page.evaluate("text => navigator.clipboard.writeText(text)", plain)
    staff_page.locator("#searchbar").focus()
    staff_page.keyboard.press("Control+V")
    staff_page.keyboard.press("Enter")

    expect(staff_page.locator("#result_list tbody tr")).to_have_count(1)
    expect(staff_page.locator("#result_list")).to_contain_text(plain[:18])
    assert staff_page.url.endswith(f"?q={plain[:18]}")
    staff_page.set_viewport_size({"width": 390, "height": 844})
    assert box(staff_page.get_by_text("1 result (Show all)"))["height"] < 40


def test_the_expiry_of_a_key_has_the_date_field_of_the_browser_and_names_another_zone(staff_page: Page) -> None:
    clock = staff_page.context.new_cdp_session(staff_page)
    clock.send("Emulation.setTimezoneOverride", {"timezoneId": "Africa/Lagos"})
    staff_page.goto("/admin/apikeys/apikey/add/")
    expect(staff_page.get_by_text("Days are UTC; your clock is 1 hour ahead.")).to_be_visible()
    expect(staff_page.get_by_label("Day of expiry")).to_have_attribute("type", "date")
