"""Keyset pagination: the body is an array, and the `Link` header has the URL of the next page (RFC 8288)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from petservice.api.validators import is_id
from petservice.api.viewsets import absolute_url
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
    def from_request(cls, request: Request) -> "Page":
        """Parse the query parameters `limit` and `after`. Raises ParseError if one is malformed."""
        limit = request.query_params.get("limit")
        after = request.query_params.get("after")
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
        rows = fetch(self.after, self.limit + 1)
        return rows[: self.limit], len(rows) > self.limit

    def next_link(self, request: Request, last_id: str) -> str:
        """Return the `Link` header for the page after the one that ends with `last_id`."""
        query = urlencode({"limit": self.limit, "after": last_id})
        return f'<{absolute_url(request)}?{query}>; rel="next"'


def _bounded(digits: str) -> int:
    # int() refuses numbers with thousands of digits. A number with more digits than the maximum is above it anyway.
    digits = digits.lstrip("0") or "0"
    return MAX_LIMIT if len(digits) > len(str(MAX_LIMIT)) else min(int(digits), MAX_LIMIT)


def page_headers(page: Page, request: Request, rows: list[Any], more: bool) -> dict[str, str]:
    """Return the headers of a response with these rows. The first column of each row is its id."""
    return {"Link": page.next_link(request, rows[-1][0])} if more else {}
