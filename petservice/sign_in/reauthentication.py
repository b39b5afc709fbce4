"""Reauthentication: a code or the password again, before API keys or accounts are changed.

It holds for 15 minutes; a login counts as one. The page that asks carries the form that was being sent, so the request
continues afterwards.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import django_otp
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern

from petservice.admin_pages.staff_page import staff_page
from petservice.sign_in import attempts, factors
from petservice.sign_in.kept_forms import without_secrets

# Seconds for which it holds.
MAX_AGE = 15 * 60
_AUTHENTICATED_AT = "confirmed_at"
# The fields of the page: the code or password, and the method of the request that the page has interrupted.
# The name says that it is a password, so that it is not kept if the session has ended (petservice.sign_in.kept_forms).
_ENTERED = "password_or_code"
_METHOD = "confirmed_method"

View = Callable[..., HttpResponseBase]


def note_authentication(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    """Record in the session that the person has just entered a code or a password."""
    request.session[_AUTHENTICATED_AT] = time.time()


def recently_authenticated(view: View) -> View:
    """Decorate a view of the admin so that its POST requests need a code or password from the last 15 minutes."""

    @wraps(view)
    def authenticated_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        is_needed = request.user.is_authenticated and request.method == "POST"
        return (ask(request) if is_needed else None) or view(request, *args, **kwargs)

    return authenticated_view


class ReauthenticatedChanges(admin.ModelAdmin):
    """An admin of which every change needs a recent code or password: its forms, its actions and its own views."""

    @property
    def urls(self) -> list[URLPattern]:
        patterns = self.get_urls()
        for pattern in patterns:
            pattern.callback = recently_authenticated(pattern.callback)
        return patterns


def ask(request: HttpRequest) -> HttpResponse | None:
    """Return the page that asks for a code or the password, or None if the request may continue."""
    entered, method = _taken_fields(request)
    if not _is_recent(request):
        if entered is None:
            return _page(request, method)
        if attempts.is_locked_out(request, request.user):
            return HttpResponse(status=429)  # replaced by the lockout page
        if not _is_correct(request, entered):
            attempts.count_failed_reauthentication(request, request.user)
            wrong = "This is wrong, or the code was used before. Try again."
            return _page(request, method, error=factors.PAUSED if factors.is_paused(request.user) else wrong)
        attempts.forget_failures(request, request.user)
        note_authentication(None, request)
    # The page stood in for a page that is read, and not for a form that is sent.
    return HttpResponseRedirect(request.get_full_path()) if method == "GET" and request.method == "POST" else None


def _is_recent(request: HttpRequest) -> bool:
    user: Any = request.user
    entered_lately = 0 <= time.time() - request.session.get(_AUTHENTICATED_AT, 0) < MAX_AGE
    # A password does not count any more once a factor is set up, even if that happened in another session.
    return entered_lately and (user.is_verified() or not factors.is_set_up(user))


def _taken_fields(request: HttpRequest) -> tuple[str | None, str]:
    """Remove the fields of the page from a request, and return the entered text and the method to continue with."""
    if _METHOD not in request.POST:
        return None, request.method or ""
    fields = request.POST.copy()
    entered, method = fields.pop(_ENTERED, [""])[-1], fields.pop(_METHOD)[-1]
    request.POST = fields  # type: ignore[assignment]  # a mutable copy
    return str(entered), str(method)


def _is_correct(request: HttpRequest, entered: str) -> bool:
    if not factors.is_set_up(request.user):
        return request.user.check_password(entered)
    device = factors.accepting_device(request, request.user, entered)
    django_otp.login(request, device)
    return device is not None


def _page(request: HttpRequest, method: str, *, error: str = "") -> HttpResponse:
    context = {
        "method": method,
        "error": error,
        "fields": without_secrets(request),
        "has_factor": factors.is_set_up(request.user),
        "has_files": bool(request.FILES),
    }
    return staff_page(request, "sign_in/reauthentication.html", "Confirm that it is you", context)
