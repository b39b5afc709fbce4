"""Keyset pagination: the body is an array, and the `Link` header has the URL of the next page (RFC 8288)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from rest_framework.exceptions import ParseError

from petservice.api.validators import is_id
from petservice.monitoring.redaction import echo

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000

_DIGITS = re.compile(r"[0-9]+", re.ASCII)

RowT = TypeVar("RowT")


@dataclass(frozen=True)
class Page:
    """A requested page: at most `limit` rows with ids above `after`."""

    limit: int
    after: str | None

    @classmethod
    def parse(cls, limit: str | None, after: str | None) -> "Page":
        """Parse the values of the query parameters of these names. Raises ParseError if one is malformed."""
        if limit is not None and not _DIGITS.fullmatch(limit):
            raise ParseError(f"limit must be an integer of 0 or more, for example ?limit=20; got {echo(limit)}.")
        if after is not None and not is_id(after):
            raise ParseError(f"after must be the id of the last pet seen, as in the Link header; got {echo(after)}.")
        return cls(limit=DEFAULT_LIMIT if limit is None else _bounded(limit), after=after)

    def rows(self, fetch: Callable[[str | None, int], list[RowT]]) -> tuple[list[RowT], bool]:
        """Return the rows of this page, and whether more follow.

        `fetch` takes an id and a number, and returns at most that many rows with higher ids.
        """
        if self.limit == 0:
            return [], False
        # One row more than requested shows whether there is a next page, without a count.
        return self.split(fetch(self.after, self.limit + 1))

    def split(self, rows: list[RowT]) -> tuple[list[RowT], bool]:
        """Return the rows of this page, and whether there are more, of the page's rows and the one after them."""
        return rows[: self.limit], len(rows) > self.limit

    def next_link(self, url: str, last_id: str) -> str:
        """Return the `Link` header for the page after the one that ends with `last_id`; `url` is that of the list."""
        return f'<{url}?{urlencode({"limit": self.limit, "after": last_id})}>; rel="next"'


def _bounded(digits: str) -> int:
    # int() refuses numbers with thousands of digits. A number with more digits than the maximum is above it anyway.
    digits = digits.lstrip("0") or "0"
    return MAX_LIMIT if len(digits) > len(str(MAX_LIMIT)) else min(int(digits), MAX_LIMIT)


def page_headers(page: Page, url: str, rows: list[Any], more: bool) -> dict[str, str]:
    """Return the headers of a response with these rows of the list at `url`. The first column of each row is its id."""
    return {"Link": page.next_link(url, rows[-1][0])} if more else {}
