"""Pages of the admin as a browser has them: what a form would send."""

from html.parser import HTMLParser
from typing import Any

from django.test import Client


def submit(client: Client, address: str, form: str, changes: dict[str, Any], **headers: str) -> Any:
    """Open the page at `address`, change some fields of its form with this id, and send it; what answers in the end."""
    return send(client, address, read(client, address, form) | changes)


def read(client: Client, address: str, form: str) -> dict[str, str]:
    """The fields of the form with this id, with the values that the page shows."""
    return fields_of(client.get(address), form)


def fields_of(response: Any, form: str) -> dict[str, str]:
    """Return the fields of the form with this id on a page, with their values."""
    reader = _FormReader(form)
    reader.feed(response.content.decode())
    assert reader.fields, f"no form {form} on the page"
    return reader.fields


def send(client: Client, address: str, fields: dict[str, Any]) -> Any:
    """Send these fields by the form's main button; what answers in the end."""
    return client.post(address, fields | {"_save": "Save"}, follow=True)


def messages(response: Any) -> list[str]:
    """What the page tells its user at the top."""
    return [str(message) for message in response.context["messages"]]


class _FormReader(HTMLParser):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._form, self._inside = form, False
        self._select = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag == "form":
            self._inside = values.get("id") == self._form
        if not self._inside:
            return
        if tag == "input" and "name" in values and values.get("type") not in ("submit", "checkbox", "file"):
            self.fields[values["name"]] = values.get("value", "")
        elif tag == "select":
            self._select = values["name"]
        elif tag == "option" and "selected" in values:
            self.fields[self._select] = values["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
