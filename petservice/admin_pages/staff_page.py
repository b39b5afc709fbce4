"""Pages in the style of the admin, also for errors."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers


def staff_page(
    request: HttpRequest | None, template: str, title: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Return a page in the style of the admin, which browsers do not keep, with the user's menu if there is a request.

    It is rendered immediately, so that no middleware receives a secret in the context.
    """
    site = admin.site
    shared = site.each_context(request) if request else {"site_title": site.site_title, "site_header": site.site_header}
    text = render_to_string(template, shared | {"title": title} | context, request)
    response = HttpResponse(text, status=status)
    add_never_cache_headers(response)
    return response


def failure_page(status: int, title: str, *sentences: str, request: HttpRequest | None = None) -> HttpResponse:
    """Return an error page in the style of the admin, with the user's menu if a request is given.

    The menu needs the database. Without it, the page can also report that the database is unavailable.
    """
    return staff_page(request, "admin/failure.html", title, {"sentences": sentences}, status)
