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
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern

from petservice.admin_pages.staff_page import staff_page
from petservice.sign_in import factors, login_limits
from petservice.sign_in.kept_forms import without_secrets

# Seconds for which it holds.
MAX_AGE = 15 * 60
_AUTHENTICATED_AT = "confirmed_at"
# The fields of the page: the code or password, and the method of the request that the page has interrupted.
# The name says that it is a password, so that it is not kept if the session has ended (petservice.sign_in.kept_forms).
_ENTERED = "password_or_code"
_METHOD = "confirmed_method"


@receiver(user_logged_in)
def note_authentication(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    """Record in the session that the person has just entered a code or a password."""
    request.session[_AUTHENTICATED_AT] = time.time()


class ReauthenticatedChanges(admin.ModelAdmin):
    """An admin of which every change needs a recent code or password: its forms, its actions and its own views."""

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
    """Return the page that asks for a code or the password, or None if the request may continue."""
    user: Any = request.user
    entered, method = None, request.method or ""
    if _METHOD in request.POST:
        fields = request.POST.copy()
        entered, method = str(fields.pop(_ENTERED, [""])[-1]), str(fields.pop(_METHOD)[-1])
        request.POST = fields  # type: ignore[assignment]  # a mutable copy
    is_recent = 0 <= time.time() - request.session.get(_AUTHENTICATED_AT, 0) < MAX_AGE
    # A password does not count any more once a factor is set up, even if that happened in another session.
    if not is_recent or not (user.is_verified() or not factors.is_set_up(user)):
        if entered is None:
            return _page(request, method)
        if login_limits.is_locked_out(request, user):
            return HttpResponse(status=429)  # replaced by the lockout page
        if factors.is_set_up(user):
            device = factors.accepting_device(request, user, entered)
            django_otp.login(request, device)
            is_correct = device is not None
        else:
            is_correct = user.check_password(entered)
        if not is_correct:
            login_limits.count_failed_reauthentication(request, user)
            wrong = "This is wrong, or the code was used before. Try again."
            return _page(request, method, error=factors.PAUSED if factors.is_paused(user) else wrong)
        login_limits.forget_failures(user, address=login_limits.counted_address(request))
        note_authentication(None, request)
    # The page stood in for a page that is read, and not for a form that is sent.
    return HttpResponseRedirect(request.get_full_path()) if method == "GET" and request.method == "POST" else None


def _page(request: HttpRequest, method: str, *, error: str = "") -> HttpResponse:
    context = {
        "method": method,
        "error": error,
        "fields": without_secrets(request),
        "has_factor": factors.is_set_up(request.user),
        "has_files": bool(request.FILES),
    }
    return staff_page(request, "sign_in/reauthentication.html", "Confirm that it is you", context)
