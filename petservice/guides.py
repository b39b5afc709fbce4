"""The guides of petservice/docs that the service shows itself, rendered from Markdown."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from django.urls import reverse
from markdown_it import MarkdownIt
from markdown_it.token import Token

_FOLDER = Path(__file__).parent / "docs"
# The guides that are pages of the service, and the names of their URL patterns.
API_GUIDE = "api.md"
ADMIN_GUIDE = "admin.md"
_URL_NAMES = {API_GUIDE: "api-guide", ADMIN_GUIDE: "admin:help"}

# The tokens of the title, with which each guide begins: its opening, its text and its end.
_TITLE_TOKENS = 3


class Heading(NamedTuple):
    """A heading of a guide."""

    level: int
    text: str
    anchor: str


class Guide(NamedTuple):
    """A guide as a page shows it: its title, the headings of its sections, and the text below the title."""

    title: str
    sections: list[Heading]
    html: str


@cache
def guide(name: str) -> Guide:
    """Render a guide, once for each process."""
    markdown = MarkdownIt().enable("table")
    tokens = [token for token in markdown.parse((_FOLDER / name).read_text()) if token.type != "html_block"]
    headings = _add_anchors(tokens)
    for token in tokens:
        token.children = _with_working_links(token.children or [])
    html: str = markdown.renderer.render(tokens[_TITLE_TOKENS:], markdown.options, {})
    return Guide(headings[0].text, [heading for heading in headings if heading.level == 2], html)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, which is the same on the usual code hosts."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _add_anchors(tokens: list[Token]) -> list[Heading]:
    headings = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in inline.children or [])
            headings.append(Heading(int(opening.tag[1:]), text, anchor(text)))
            opening.attrSet("id", anchor(text))
    return headings


def _with_working_links(tokens: list[Token]) -> list[Token]:
    """Return the tokens of a line without its links to documents that the service does not show."""
    kept = []
    is_link_kept: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            target = _target(str(token.attrGet("href")))
            is_link_kept.append(target is not None)
            token.attrSet("href", target or "")
        if not token.type.startswith("link_") or is_link_kept[-1]:
            kept.append(token)
        if token.type == "link_close":
            is_link_kept.pop()
    return kept


def _target(url: str) -> str | None:
    """Return where a link leads on a page, None if nowhere."""
    parts = urlsplit(url)
    if parts.scheme or not parts.path:  # another site, or a heading of the same guide
        return url
    name = _URL_NAMES.get(parts.path)
    return name and parts._replace(path=reverse(name)).geturl()
