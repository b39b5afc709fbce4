"""The pages of pets in a real browser."""

from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import change_window
from tests.service import Service


def make(site: Service, *pets: dict[str, str]) -> list[str]:
    """Create pets through the API and return their ids."""
    with site.client(site.create_key()) as client:
        return [client.post("/v1/pets", json=pet).json()["id"] for pet in pets]


def test_all_pets_of_a_list_are_selected_and_changed_after_a_question(staff_page: Page, site: Service) -> None:
    make(site, *({"name": f"Nemo {number}", "tag": "fish"} for number in range(60)))
    staff_page.goto("/admin/pets/pet/?q=nemo&status__exact=available")
    for answer in ("No, take me back", "Yes, mark 60 pets as sold"):
        expect(staff_page.get_by_text("60 results")).to_be_visible()
        staff_page.locator("#action-toggle").check()
        staff_page.get_by_role("button", name="Select all 60 pets").click()
        staff_page.get_by_role("button", name="Mark as sold").click()
        staff_page.get_by_text(answer).or_(staff_page.get_by_role("button", name=answer)).first.click()

    expect(staff_page.get_by_text("60 pets marked as sold.")).to_be_visible()
    expect(staff_page.get_by_text("0 results")).to_be_visible()


def test_the_preview_of_an_import_has_a_colour_for_each_kind_of_row(staff_page: Page, site: Service) -> None:
    same, other = make(site, {"name": "Same"}, {"name": "Other"})
    content = f"id,name\n{same},Same\n{other},Another\n,New\n".encode()
    file = FilePayload(name="pets.csv", mimeType="text/csv", buffer=content)
    staff_page.goto("/admin/pets/pet/import/")
    staff_page.locator("input[type=file]").set_input_files(file)
    staff_page.get_by_role("button", name="Preview").click()
    for theme in ("light", "dark"):
        change_window(staff_page, 1280, 720, theme)
        rows = [staff_page.locator(f"table.import-changes tr.{kind}").first for kind in ("skip", "update", "new")]
        unchanged, *colours = [row.evaluate("row => getComputedStyle(row).backgroundColor") for row in rows]
        assert unchanged == "rgba(0, 0, 0, 0)"
        assert len({unchanged, *colours}) == 3, theme


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
