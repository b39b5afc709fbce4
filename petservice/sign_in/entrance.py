"""The checks before every page of the admin: the login, the end of the session, and the second factor."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from petservice.sign_in import factors, reauthentication, second_factor_view, sessions
from petservice.sign_in.login_view import login_page_with_form

_SET_UP = "second_factor"
# Views that need no second factor.
_OPEN = ("logout", "jsi18n")


def page_before(request: HttpRequest) -> HttpResponse | None:
    """Return the page that a person must get in place of the one that the request asks for, or None.

    The CSRF token of the request has been checked before.
    """
    if not admin.site.has_permission(request):
        return login_page_with_form(request) if _has_form(request) else None  # Django redirects to the login
    sessions.continue_session(request.session)
    name = request.resolver_match.url_name if request.resolver_match else None
    user: Any = request.user
    if name in _OPEN or user.is_verified():
        return None
    if factors.is_set_up(user):  # since this session began, in another one
        return reauthentication.ask(request)
    if factors.is_required(user) and name != _SET_UP:
        if _has_form(request):
            return second_factor_view.set_up_first(request)
        continue_at = request.get_full_path() if request.method == "GET" else reverse("admin:index")
        return redirect_to_login(continue_at, reverse(f"admin:{_SET_UP}"))
    return None


def _has_form(request: HttpRequest) -> bool:
    """Return whether a request has sent more than a CSRF token, and not the button that logs out."""
    is_logout = request.resolver_match is not None and request.resolver_match.url_name == "logout"
    return request.method == "POST" and not is_logout and (len(request.POST) > 1 or bool(request.FILES))
