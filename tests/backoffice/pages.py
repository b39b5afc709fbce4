"""Forms of the admin, filled in and sent as a browser does."""

import csv
import io
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

from django.test import Client

# A link, or a form with a button.
_UNDO = re.compile(r' <(?:a|form) class="undo".*? (?:href|action)="(.+?)">.*Undo.*')


def submit(client: Client, url: str, form: str, changes: dict[str, Any]) -> Any:
    """Open a page, change some fields of the form with this id, send it, and return the final response."""
    return send(client, url, read(client, url, form) | changes)


def read(client: Client, url: str, form: str) -> dict[str, str]:
    """Return the fields and values of the form with this id."""
    return fields_of(client.get(url), form)


def fields_of(response: Any, form: str) -> dict[str, str]:
    """Return the fields of the form with this id on a page, with their values."""
    reader = _FormReader(form)
    reader.feed(response.content.decode())
    assert reader.fields, f"no form {form} on the page"
    return reader.fields


def send(client: Client, url: str, fields: dict[str, Any]) -> Any:
    """Send these fields with the main button of the form, and return the final response."""
    return client.post(url, fields | {"_save": "Save"}, follow=True)


def messages(response: Any) -> list[str]:
    """Return the messages at the top of a page, without what undoes the change."""
    return [_UNDO.sub("", str(message)) for message in response.context["messages"]]


def csv_rows(response: Any) -> list[dict[str, str]]:
    """Return the rows of an exported file."""
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))


def text_of(response: Any) -> str:
    """Return the HTML of a page without the elements that isolate names."""
    return re.sub(r"</?bdi\b[^>]*>", "", response.content.decode())


def undo_url(response: Any) -> str:
    """Return the URL in a message that undoes the change."""
    (url,) = [found[1] for message in response.context["messages"] if (found := _UNDO.search(str(message)))]
    return unescape(url)


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
        is_sent = values.get("type") not in ("submit", "checkbox", "file", "radio") or "checked" in values
        if tag == "input" and "name" in values and is_sent:
            self.fields[values["name"]] = values.get("value", "on" if values.get("type") == "checkbox" else "")
        elif tag == "select":
            self._select = values["name"]
        elif tag == "option" and "selected" in values:
            self.fields[self._select] = values["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
