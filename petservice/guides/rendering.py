"""The guides of petservice/docs that the service shows itself, rendered from Markdown."""

import re
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

_FOLDER = Path(__file__).parent.parent / "docs"
# The guides that are pages of the service. They link only to their own headings and to other sites.
API_GUIDE = "api.md"
ADMIN_GUIDE = "admin.md"
CHANGELOG = "changelog.md"

# The tokens of the title, with which each guide begins: its opening, its text and its end.
_TITLE_TOKENS = 3


class Guide(NamedTuple):
    """A guide as a page shows it: its title, the headings of its sections by their anchors, and the text below."""

    title: str
    sections: dict[str, str]
    html: str


@cache
def guide(name: str) -> Guide:
    """Render a guide, once for each process."""
    markdown = MarkdownIt().enable("table")
    tokens = [token for token in markdown.parse((_FOLDER / name).read_text()) if token.type != "html_block"]
    headings: dict[str, dict[str, str]] = defaultdict(dict)  # by their tags and anchors
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in inline.children or [])
            headings[opening.tag][anchor(text)] = text
            opening.attrSet("id", anchor(text))
    html: str = markdown.renderer.render(tokens[_TITLE_TOKENS:], markdown.options, {})
    (title,) = headings["h1"].values()
    return Guide(title, headings["h2"], html)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, which is the same on the usual code hosts."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
