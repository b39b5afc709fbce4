"""A page in the style of the admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers


def staff_page(request: HttpRequest, template: str, title: str, context: dict[str, Any]) -> TemplateResponse:
    """Return a page in the style of the admin, with the user's menu, which browsers do not keep."""
    response = TemplateResponse(request, template, admin.site.each_context(request) | {"title": title} | context)
    add_never_cache_headers(response)
    return response
