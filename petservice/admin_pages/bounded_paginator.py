"""A paginator for the lists of the admin, whose cost does not grow with the number of rows."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

# Maximum number of rows that a list counts and shows, so that a page stays fast. Staff filter longer lists.
MAX_COUNTED = 10_000


class MoreThan(int):
    """A count that was stopped at a maximum; the real number is greater."""

    def __str__(self) -> str:
        return f"more than {int(self):,}"

    def __format__(self, format_spec: str) -> str:
        return str(self)


class BoundedPaginator(Paginator):
    """A paginator that counts at most MAX_COUNTED rows."""

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # the admin's lists are querysets
        count = rows.order_by()[: MAX_COUNTED + 1].values("pk").count()
        return count if count <= MAX_COUNTED else MoreThan(MAX_COUNTED)
