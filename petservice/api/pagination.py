"""Keyset pagination: the body is the bare array, the next page is in the `Link` header (RFC 8288)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from rest_framework.request import Request

from petservice.api.errors import BadRequest
from petservice.api.responses import absolute_url
from petservice.api.validators import is_id
from petservice.monitoring.redaction import echo

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000

_DIGITS = re.compile(r"[0-9]+", re.ASCII)

RowT = TypeVar("RowT")


@dataclass(frozen=True)
class Page:
    """The page that a client asked for: at most `limit` rows with ids above `after`."""

    limit: int
    after: str | None

    @classmethod
    def from_request(cls, request: Request) -> "Page":
        """The query parameters `limit` and `after`, the last of each if repeated; raises BadRequest if malformed."""
        limit = request.query_params.get("limit")
        after = request.query_params.get("after")
        if limit is not None and not _DIGITS.fullmatch(limit):
            raise BadRequest(f"limit must be a whole number from 0, for example ?limit=20; got {echo(limit)}.")
        if after is not None and not is_id(after):
            raise BadRequest(f"after must be the id of the last pet seen, as in the Link header; got {echo(after)}.")
        return cls(limit=DEFAULT_LIMIT if limit is None else _bounded(limit), after=after)

    def rows(self, fetch: Callable[[str | None, int], list[RowT]]) -> tuple[list[RowT], bool]:
        """The rows of this page, and whether more follow; `fetch` gives those above an id, at most a number of them."""
        if self.limit == 0:
            return [], False
        # One more than asked for tells whether there is a next page, without a count.
        rows = fetch(self.after, self.limit + 1)
        return rows[: self.limit], len(rows) > self.limit

    def next_link(self, request: Request, last_id: str) -> str:
        """The `Link` header that leads to the page after the one that ends with `last_id`."""
        query = urlencode({"limit": self.limit, "after": last_id})
        return f'<{absolute_url(request)}?{query}>; rel="next"'


def _bounded(digits: str) -> int:
    # Thousands of digits are a number too, but int() refuses them; what is too long is above the maximum anyhow.
    digits = digits.lstrip("0") or "0"
    return MAX_LIMIT if len(digits) > len(str(MAX_LIMIT)) else min(int(digits), MAX_LIMIT)


def page_headers(page: Page, request: Request, rows: list[Any], more: bool) -> dict[str, str]:
    """The headers of an answer with these rows, which begin with their ids."""
    return {"Link": page.next_link(request, rows[-1][0])} if more else {}
