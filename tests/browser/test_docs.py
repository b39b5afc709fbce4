"""A client developer uses the home page, the documentation page and the guide in a real browser."""

import json
import re
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.accessibility import severe_problems
from tests.browser.conftest import change_window
from tests.described import DOCUMENT
from tests.service import Service


def open_operation(page: Page, name: str) -> Locator:
    """Open an operation on the page, so that it can be tried out, and return its element."""
    operation = page.locator(f"[id^=operations-][id$=-{name}]")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    return operation


def authorize(page: Page, key: str) -> None:
    """Enter an API key on the page."""
    page.get_by_role("button", name="Authorize").first.click()
    page.locator(".auth-container input").fill(key)
    page.locator(".auth-container").get_by_role("button", name="Apply credentials").click()
    expect(page.get_by_role("heading", name="Authorized")).to_be_visible()
    page.locator(".auth-container").get_by_role("button", name="Close").click()


def execute(operation: Locator, status: int) -> Any:
    """Send the request of an operation, expect this status on the page, and return the body that the page shows."""
    clear = operation.get_by_role("button", name="Clear")
    if clear.is_visible():  # so that the response to an earlier request is not taken for this one
        clear.click()
    operation.get_by_role("button", name="Execute").click()
    response = operation.locator(".live-responses-table tbody tr").first
    expect(response.locator(".response-col_status")).to_have_text(str(status))
    return json.loads(response.locator(".highlight-code code").first.inner_text())


# Returns the elements that reach beyond the window, with nothing around them that scrolls.
CUT_OFF = """width => {
    const scrolls = one => one.id !== "content"
        && (["auto", "scroll"].includes(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
    return [...document.querySelectorAll("#content *")]
        .filter(one => one.getBoundingClientRect().right > width + 1 && !scrolls(one.parentElement))
        .map(one => `${one.tagName} ${one.className} ${one.getBoundingClientRect().right}`);
}"""
# Returns the words of codes that are on more than one line, because their column is too narrow.
BROKEN_WORDS = """() => [...document.querySelectorAll("#swagger-ui .info table code")]
    .filter(one => one.getClientRects().length > 1).map(one => one.textContent)"""


def test_a_developer_tries_every_operation_and_every_state_fits_a_narrow_window(page: Page, site: Service) -> None:
    page.goto("/docs")
    for width in (1440, 720, 390):
        change_window(page, width, 800, "light")
        expect(page.get_by_role("button", name="Authorize")).to_be_in_viewport()
    names = page.locator(".opblock-summary-operation-id")
    expect(names).to_have_count(5)
    bodies: dict[str, Any] = {}

    def assert_fits() -> None:
        assert page.evaluate(CUT_OFF, 390) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

    assert_fits()
    assert page.evaluate(BROKEN_WORDS) == []
    key = site.create_key()
    authorize(page, key)
    for name in ("healthCheck", "createPet", "listPets", "getPet", "getInventory"):
        operation = page.locator(f"[id^=operations-][id$=-{name}]")
        operation.locator(".opblock-summary-control").click()
        expect(operation.locator(".responses-wrapper")).to_be_visible()
        for schema in operation.get_by_role("tab", name="Schema").all():
            schema.click()
        assert_fits()
        operation.get_by_role("button", name="Try it out").click()
        if name == "createPet":
            operation.locator("textarea").fill('{"name": "Rex <b>", "tag": "狗"}')
        bodies[name] = execute(operation, 201 if name == "createPet" else 200)
        assert_fits()
        curl = operation.locator(".curl-command").inner_text()
        assert f"'{site.url}/v1/" in curl
        assert set(re.findall(r"-H '([^:]+):", curl)) <= {"accept", "Content-Type", "X-API-Key"}
        operation.locator(".opblock-summary-control").click()
    for model in page.locator(
        ".model-container button[aria-expanded=false], .model-container .model-box-control"
    ).all():
        model.click()
    assert_fits()
    page.get_by_role("button", name="Authorize").first.click()
    assert_fits()

    assert set(names.all_text_contents()) == set(bodies)
    limit, _ = json.loads(DOCUMENT.read_text())["paths"]["/pets"]["get"]["parameters"]
    with site.client(key) as client:
        pets = client.get("/v1/pets", params={"limit": limit["example"]}).json()
        inventory = client.get("/v1/store/inventory").json()
    # The page fills in the example of the limit, and the last pet of the list as the next one to get.
    pet = {"id": bodies["createPet"]["id"], "name": "Rex <b>", "tag": "狗"}
    read = {"healthCheck": {"status": "ok"}, "listPets": pets, "getPet": pets[-1], "getInventory": inventory}
    assert bodies == read | {"createPet": pet}


def test_link_to_an_operation_opens_it(page: Page) -> None:
    page.goto("/docs#/Pets/createPet")
    expect(page.get_by_role("button", name="Try it out")).to_have_count(1)
    expect(page.locator("#operations-Pets-createPet")).to_be_in_viewport()

    page.locator("#operations-Store-getInventory .opblock-summary-control").click()
    expect(page).to_have_url(re.compile(r"/docs#/Store/getInventory$"))


def test_key_that_the_service_rejects_is_not_authorized(browser: Browser, site: Service) -> None:
    read_only = site.create_key()
    site.execute("UPDATE apikeys_apikey SET access = 'read' WHERE prefix = %s", read_only[:18])
    # Not the fixture `page`, which fails on the 401 in the console of the browser.
    page = browser.new_page(base_url=site.url)
    page.goto("/docs")
    page.get_by_role("button", name="Authorize").first.click()
    dialog = page.locator(".auth-container")
    for wrong, message in (("wrong", "API key"), ("ключ", "ISO-8859-1")):
        dialog.locator("input").fill(wrong)
        dialog.get_by_role("button", name="Apply credentials").click()
        expect(dialog.locator(".errors")).to_contain_text(message)
        expect(page.get_by_role("heading", name="Authorized")).to_have_count(0)
    dialog.locator("input").fill(read_only)
    dialog.get_by_role("button", name="Apply credentials").click()
    expect(page.get_by_role("heading", name="Authorized")).to_be_visible()
    expect(dialog.locator(".errors")).to_have_count(0)
    page.close()


def test_fields_for_ids_are_empty_until_a_request_returns_a_pet(page: Page, site: Service) -> None:
    page.goto("/docs")
    authorize(page, site.create_key())
    get = open_operation(page, "getPet")
    field = get.get_by_placeholder("petId")
    expect(field).to_have_value("")
    get.get_by_role("button", name="Execute").click()
    expect(field).to_have_class(re.compile("invalid"))  # nothing was sent

    create = open_operation(page, "createPet")
    expect(create.get_by_placeholder("Idempotency-Key")).to_have_value("")
    first, second = execute(create, 201), execute(create, 201)
    assert first["id"] != second["id"]
    expect(field).to_have_value(second["id"])
    field.fill("typed")
    execute(create, 201)
    expect(field).to_have_value("typed")
    for theme in ("light", "dark"):
        change_window(page, 1280, 720, theme)
        # Swagger UI's field for a body has no label, which is a problem of its own.
        assert severe_problems(page, "color-contrast") == []


def test_each_program_of_the_guide_can_be_copied(page: Page, site: Service) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/docs/api")
    buttons = page.get_by_role("button", name="Copy")
    expect(buttons).to_have_count(page.locator("pre").count())

    buttons.first.click()

    expect(page.get_by_role("button", name="Copied")).to_have_count(1)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("pre").first.inner_text()
    assert f"PETS_URL={site.url}/v1 " in copied


def test_the_theme_chosen_on_one_page_holds_on_all(staff_page: Page) -> None:
    def theme() -> str:
        return str(staff_page.evaluate("getComputedStyle(document.documentElement).colorScheme"))

    staff_page.emulate_media(color_scheme="light")
    staff_page.goto("/")
    staff_page.get_by_role("button", name="Theme: auto").click()
    for url in ("/", "/docs/api", "/docs", "/admin/", "/admin/help/"):
        staff_page.goto(url)
        assert theme() == "dark", url
    staff_page.emulate_media(color_scheme="light")
    staff_page.goto("/docs")
    expect(staff_page.locator("html.dark-mode")).to_be_visible()
    staff_page.get_by_role("button", name="Theme: dark").click()
    expect(staff_page.locator("html.dark-mode")).to_have_count(0)
