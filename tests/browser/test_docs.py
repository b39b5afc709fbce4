"""A client developer uses the documentation page in a real browser."""

import json
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.described import DOCUMENT
from tests.service import Service


def open_operation(page: Page, name: str) -> Locator:
    """Open an operation on the page, so that it can be tried out, and return its element."""
    operation = page.locator(f"[id^=operations-][id$=-{name}]")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    return operation


def execute(operation: Locator, status: int) -> Any:
    """Send the request of an operation, expect this status on the page, and return the body that the page shows."""
    operation.get_by_role("button", name="Execute").click()
    response = operation.locator(".live-responses-table tbody tr").first
    expect(response.locator(".response-col_status")).to_have_text(str(status))
    return json.loads(response.locator(".highlight-code code").first.inner_text())


def test_a_developer_authorises_and_tries_every_operation(page: Page, site: Service) -> None:
    page.goto("/docs")
    names = page.locator(".opblock-summary-operation-id")
    expect(names).to_have_count(5)
    assert set(names.all_inner_texts()) == {"healthCheck", "listPets", "createPet", "getPet", "getInventory"}
    key = site.create_key()
    page.get_by_role("button", name="Authorize").first.click()
    page.locator(".auth-container input").fill(key)
    page.locator(".auth-container").get_by_role("button", name="Apply credentials").click()
    page.locator(".auth-container").get_by_role("button", name="Close").click()

    create = open_operation(page, "createPet")
    create.locator("textarea").fill('{"name": "Rex <b>", "tag": "狗"}')
    pet = execute(create, 201)
    assert pet == {"id": pet["id"], "name": "Rex <b>", "tag": "狗"}

    get = open_operation(page, "getPet")
    get.get_by_placeholder("petId").fill(pet["id"])
    assert execute(get, 200) == pet

    # The page fills in the examples of optional parameters.
    parameters = json.loads(DOCUMENT.read_text())["paths"]["/pets"]["get"]["parameters"]
    examples = {parameter["name"]: parameter["example"] for parameter in parameters}
    with site.client(key) as client:
        assert execute(open_operation(page, "listPets"), 200) == client.get("/v1/pets", params=examples).json()
        assert execute(open_operation(page, "getInventory"), 200) == client.get("/v1/store/inventory").json()
    assert execute(open_operation(page, "healthCheck"), 200) == {"status": "ok"}
