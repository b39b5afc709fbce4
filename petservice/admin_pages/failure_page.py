"""An error page in the style of the admin."""

from django.http import HttpRequest, HttpResponse

from petservice.admin_pages.staff_page import staff_page


def failure_page(status: int, title: str, *sentences: str, request: HttpRequest | None = None) -> HttpResponse:
    """Return an error page in the style of the admin, with the user's menu if a request is given.

    The menu needs the database. Without it, the page can also report that the database is unavailable.
    """
    return staff_page(request, "admin/failure.html", title, {"sentences": sentences}, status)
