"""The forms and the frame of the admin in a real browser."""

import re

from playwright.sync_api import Dialog, Page, expect

from tests.browser.conftest import box
from tests.browser.test_lists import COLOURS
from tests.browser.test_pets import make
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


def test_a_form_is_as_wide_as_its_fields_and_says_which_are_optional(staff_page: Page) -> None:
    content = "selector => getComputedStyle(document.querySelector(selector), '::after').content"
    staff_page.goto("/admin/pets/pet/add/")

    assert box(staff_page.locator("fieldset"))["width"] <= 720
    assert staff_page.locator(".facts-beside").count() == 0
    assert staff_page.evaluate(content, "label[for=id_tag]") == '"optional"'
    assert staff_page.evaluate(content, "label[for=id_name]") != '"optional"'


def test_the_facts_of_a_record_are_beside_its_fields_or_below_them_on_a_phone(staff_page: Page, site: Service) -> None:
    (pet,) = make(site, {"name": "Factual"})
    staff_page.set_viewport_size({"width": 1440, "height": 900})
    staff_page.goto(f"/admin/pets/pet/{pet}/change/")
    fields, facts = staff_page.locator(".fields-to-edit"), staff_page.locator(".facts-beside")
    expect(facts).to_contain_text(pet)
    assert box(facts)["y"] == box(fields)["y"]
    assert box(facts)["x"] > box(fields)["x"] + box(fields)["width"]

    staff_page.set_viewport_size({"width": 390, "height": 844})
    assert box(facts)["y"] > box(fields)["y"] + box(fields)["height"]


def test_the_page_of_a_revoked_key_has_no_help_with_fields(staff_page: Page, site: Service) -> None:
    site.create_key()
    (key,) = site.execute("SELECT max(id) FROM apikeys_apikey")[0]
    staff_page.goto(f"/admin/apikeys/apikey/{key}/change/")
    expect(staff_page.get_by_text("Leave empty for no expiry.")).to_be_visible()
    site.execute("UPDATE apikeys_apikey SET revoked_at = created_at WHERE id = %s", key)
    staff_page.reload()
    expect(staff_page.get_by_text("Leave empty for no expiry.")).to_be_hidden()


def test_all_choices_have_the_colour_of_the_service(staff_page: Page) -> None:
    staff_page.goto("/admin/accounts/account/add/")
    link = staff_page.locator(".breadcrumbs a").first.evaluate(COLOURS)[0]
    expect(staff_page.get_by_role("radio").first).to_have_css("accent-color", link)
