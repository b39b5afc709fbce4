"""Keyset pagination: the body is the bare array, the next page is in the `Link` header (RFC 8288)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from rest_framework.request import Request

from petservice.api.errors import BadRequest
from petservice.monitoring.redaction import echo

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000

# The service's ids: UUIDs in lower case with hyphens.
ID_PATTERN = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_ID = re.compile(ID_PATTERN, re.ASCII)

# Of the few paths that have lists.
_quoted = lru_cache(maxsize=16)(quote)

RowT = TypeVar("RowT")


def is_id(text: str) -> bool:
    """Whether `text` has the form of the service's ids: a UUID in lower case with hyphens."""
    return _ID.fullmatch(text) is not None


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


def absolute_url(request: Request) -> str:
    """The address that was asked for, without a query."""
    # The header, if there was one, has been looked at by TransportMiddleware.
    host = request.META.get("HTTP_HOST") or request.get_host()
    asked = request._request  # each look through REST framework's for what that has not itself takes a detour
    return f"{asked.scheme}://{host}{_quoted(asked.path)}"


def page_headers(page: Page, request: Request, rows: list[Any], more: bool) -> dict[str, str]:
    """The headers of an answer with these rows, which begin with their ids."""
    return {"Link": page.next_link(request, rows[-1][0])} if more else {}
