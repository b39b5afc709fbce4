"""The lists of the admin and their paginator, whose cost does not grow with the number of rows."""

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import EmptyPage, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

# Maximum number of rows that a list counts and shows, so that a page stays fast. Staff filter longer lists. It is also
# that of an action, an import and an export, which take much less than the timeout of a worker.
MAX_COUNTED = 10_000


class RowCount(int):
    """A number of rows, which pages show with separators."""

    def __str__(self) -> str:
        return f"{self:,}"


class MoreThan(RowCount):
    """A count that was stopped at a maximum; the real number is greater."""

    def __format__(self, format_spec: str) -> str:
        return f"more than {int(self):,}"


class BoundedPaginator(Paginator):
    """A paginator that counts at most MAX_COUNTED rows, and shows the nearest page to one that does not exist."""

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # the admin's lists are querysets
        count = rows.order_by()[: MAX_COUNTED + 1].values("pk").count()
        return RowCount(count) if count <= MAX_COUNTED else MoreThan(MAX_COUNTED)

    def validate_number(self, number: Any) -> int:
        # The rows of a page can be deleted while staff look at it. Django's admin would then show the list without its
        # search and filters, and the next action would concern other rows.
        try:
            return super().validate_number(number)
        except EmptyPage:
            return 1 if int(number) < 1 else self.num_pages


class BoundedChangeList(ChangeList):
    """A list that counts a limited number of rows, and shows the nearest page to one that does not exist."""

    @property
    def can_select_all(self) -> bool:
        """Return whether an action accepts all rows of the list."""
        return not isinstance(self.result_count, MoreThan)

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.query_of_rows, self.preserved_filters = self.preserved_filters, ""
        self.page_num = self.paginator.validate_number(self.page_num)
        if self.result_count <= self.list_per_page:  # to find few rows takes long, and the count has done it
            self.result_list = self.paginator.object_list if self.result_count else self.queryset.none()

    def url_for_result(self, result: Any) -> str:
        """Return the URL of a row with the filters of the list. To add them, Django would resolve each URL."""
        return f"{super().url_for_result(result)}?{self.query_of_rows}".rstrip("?")
