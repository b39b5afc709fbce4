"""Reauthentication: another login, before API keys or accounts are changed, unless the last one is recent.

The login page carries the form that was being sent, and offers it afterwards.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern

from petservice.sign_in import sessions
from petservice.sign_in.login_view import login_page


class ReauthenticatedChanges(admin.ModelAdmin):
    """An admin of which every change needs a recent login: its forms, its actions and its own views."""

    @property
    def urls(self) -> list[URLPattern]:
        patterns = self.get_urls()
        for pattern in patterns:
            pattern.callback = _recently_authenticated(pattern.callback)
        return patterns


def _recently_authenticated(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def authenticated_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        is_needed = request.user.is_authenticated and request.method == "POST"
        return (ask(request) if is_needed else None) or view(request, *args, **kwargs)

    return authenticated_view


def ask(request: HttpRequest) -> HttpResponse | None:
    """Return the login page, or None if the request may continue."""
    if sessions.is_recent(request.session):
        return None
    return login_page(request, "This needs another login, because the last one is more than 15 minutes ago.")
