"""An error page in the style of the admin."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers


def failure_page(status: int, title: str, *sentences: str, request: HttpRequest | None = None) -> HttpResponse:
    """Return an error page in the style of the admin, with the user's menu if a request is given.

    The menu needs the database. Without it, the page can also report that the database is unavailable.
    """
    site = admin.site
    context = (
        site.each_context(request) if request else {"site_title": site.site_title, "site_header": site.site_header}
    )
    text = render_to_string("admin/failure.html", context | {"title": title, "sentences": sentences}, request)
    response = HttpResponse(text, status=status)
    add_never_cache_headers(response)
    return response
