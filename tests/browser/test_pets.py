"""The pages of pets in a real browser."""

import csv

from playwright.sync_api import Page, expect

from tests.browser.conftest import change_window
from tests.service import Service


def make(site: Service, *pets: dict[str, str]) -> list[str]:
    """Create pets through the API and return their ids."""
    with site.client(site.create_key()) as client:
        return [client.post("/v1/pets", json=pet).json()["id"] for pet in pets]


def test_a_bulk_change_of_many_pets_asks_first(staff_page: Page, site: Service) -> None:
    make(site, *({"name": f"Nemo {number}", "tag": "fish"} for number in range(60)))

    def mark_all_as_sold() -> None:
        staff_page.locator("#action-toggle").check()
        staff_page.get_by_role("button", name="Select all 60 pets").click()
        staff_page.get_by_role("button", name="Mark as sold").click()
        expect(staff_page.get_by_text("Mark 60 pets as sold?")).to_be_visible()
        expect(staff_page.get_by_text("search “nemo”")).to_be_visible()

    staff_page.goto("/admin/pets/pet/?q=nemo")
    mark_all_as_sold()
    staff_page.get_by_role("link", name="No, take me back").click()
    expect(staff_page).to_have_url(f"{site.url}/admin/pets/pet/?q=nemo")
    staff_page.goto("/admin/pets/pet/?q=nemo&status__exact=available")
    expect(staff_page.get_by_text("60 results")).to_be_visible()

    mark_all_as_sold()
    staff_page.get_by_role("button", name="Yes, mark 60 pets as sold").click()
    expect(staff_page.get_by_text("60 pets marked as sold.")).to_be_visible()
    expect(staff_page.get_by_text("0 results")).to_be_visible()


def test_the_browser_saves_the_export_of_a_list(staff_page: Page, site: Service) -> None:
    make(site, {"name": "Export 狗", "tag": "dog"}, {"name": "=Export"}, {"name": "Other"})
    staff_page.goto("/admin/pets/pet/?q=export")
    staff_page.get_by_role("link", name="Export", exact=True).click()
    staff_page.get_by_label("Format").select_option("CSV")
    with staff_page.expect_download() as download:
        staff_page.get_by_role("button", name="Download").click()

    with download.value.path().open(encoding="utf-8-sig", newline="") as file:
        assert {pet["name"]: pet["tag"] for pet in csv.DictReader(file)} == {"Export 狗": "dog", "'=Export": ""}


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
    staff_page.get_by_role("link", name="Clear the filters").click()
    expect(staff_page.locator("#result_list tbody tr")).to_have_count(4)
    staff_page.keyboard.press("/")
    staff_page.keyboard.type("else")
    staff_page.keyboard.press("Enter")
    expect(staff_page.locator("#result_list tbody tr")).to_have_count(1)


def test_the_preview_of_an_import_has_the_colours_of_the_theme(staff_page: Page, site: Service) -> None:
    same, other = make(site, {"name": "Same"}, {"name": "Other"})
    staff_page.goto("/admin/pets/pet/import/")
    content = f"id,name\n{same},Same\n{other},Another\n,New\n".encode()
    staff_page.locator("input[type=file]").set_input_files(
        {"name": "pets.csv", "mimeType": "text/csv", "buffer": content}
    )
    staff_page.get_by_role("button", name="Preview").click()

    def background(selector: str) -> str:
        colour = "element => getComputedStyle(element).backgroundColor"
        return str(staff_page.locator(f"table.import-changes {selector}").evaluate(colour))

    def variable(name: str) -> str:
        """Return the colour of a CSS variable in the current theme."""
        staff_page.evaluate("name => { document.body.style.color = `var(${name})` }", name)
        return str(staff_page.evaluate("getComputedStyle(document.body).color"))

    for theme in ("light", "dark"):
        change_window(staff_page, 1280, 720, theme)
        assert background("tr.skip") == background("tr.update ins") == background("tr.update del") == "rgba(0, 0, 0, 0)"
        assert background("tr.update") == variable("--message-warning-bg"), theme
        assert background("tr.new") == variable("--message-success-bg"), theme


def test_the_list_is_as_wide_as_its_page_at_a_zoom_of_200_percent(staff_page: Page) -> None:
    staff_page.set_viewport_size({"width": 720, "height": 450})
    staff_page.goto("/admin/pets/pet/")

    width = staff_page.evaluate("document.querySelector('#changelist').getBoundingClientRect().width")
    assert width == staff_page.evaluate("document.querySelector('#content').getBoundingClientRect().width - 2 * 16")
