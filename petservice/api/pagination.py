"""Keyset pagination: the body is an array, and the `Link` header has the URL of the next page (RFC 8288)."""

from dataclasses import dataclass
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from petservice.api.validators import is_id
from petservice.monitoring.redaction import echo

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000


@dataclass(frozen=True)
class Page:
    """A requested page: at most `limit` rows with ids above `after`."""

    limit: int
    after: str | None

    @classmethod
    def parse(cls, limit: str | None, after: str | None) -> "Page":
        """Parse the values of the query parameters of these names. Raises ParseError if one is malformed."""
        if limit is not None and not (limit.isascii() and limit.isdecimal()):
            raise ParseError(f"limit must be an integer of 0 or more, for example ?limit=20; got {echo(limit)}.")
        if after is not None and not is_id(after):
            raise ParseError(f"after must be the id of the last pet seen, as in the Link header; got {echo(after)}.")
        if limit is None:
            return cls(DEFAULT_LIMIT, after)
        # Five digits are enough for a comparison with the maximum, and int() refuses thousands of digits.
        return cls(min(int(limit.lstrip("0")[:5] or "0"), MAX_LIMIT), after)

    def part(self, rows: list[Any], url: str) -> tuple[list[Any], dict[str, str]]:
        """Return the rows of this page, and its headers, with the `Link` to the next page if there is one.

        `rows` are those of this page and the next one, which shows that there is a next page, without a count. Each
        begins with its id. `url` is that of the list.
        """
        has_next = len(rows) > self.limit > 0
        rows = rows[: self.limit]
        headers = {"Link": f'<{url}?limit={self.limit}&after={rows[-1][0]}>; rel="next"'} if has_next else {}
        return rows, headers


class KeysetPagination(BasePagination):
    """Pagination of a queryset of rows in the order of their ids, with which they begin."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """Return the rows of the page that the query of the request names. Raises ParseError."""
        page = Page.parse(request.query_params.get("limit"), request.query_params.get("after"))
        if page.after is not None:
            queryset = queryset.filter(pk__gt=page.after)
        rows, self._headers = page.part([*queryset[: page.limit + 1]], request.build_absolute_uri(request.path))
        return rows

    def get_paginated_response(self, data: Any) -> Response:
        return Response(data, headers=self._headers)
