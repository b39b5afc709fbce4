"""Limits on guessing codes and passwords after the first step of a login, counted together with failed logins.

The present password on the page that changes it is one of them.
"""

from collections.abc import Callable
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from petservice.journal.models import Event
from petservice.journal.recording import record
from petservice.sign_in.login_limits import counted_address

_WRONG = "Wrong present password on the page that changes the password."


def is_locked_out(request: HttpRequest, user: Any) -> bool:
    """Return whether an account is locked for the client's address. If so, the response becomes the lockout page."""
    locked: bool = not AxesProxyHandler.is_allowed(request, _credentials(user))
    if locked:
        request.axes_locked_out = True  # type: ignore[attr-defined]  # an attribute of axes
        _count(request, user)  # reports the lockout, and does not count during one
    return locked


def count_failed_login(request: HttpRequest, user: Any) -> None:
    """Count a wrong code as a failed login."""
    user_login_failed.send(sender=__name__, credentials=_credentials(user), request=request)


def count_failed_reauthentication(
    request: HttpRequest, user: Any, message: str = "Wrong code or password when asked to confirm."
) -> None:
    """Count a wrong code or password of someone who is logged in."""
    _count(request, user)
    record(request, Event.Kind.SECOND_FACTOR, target=user, message=message)


def forget_failures(request: HttpRequest, user: Any) -> None:
    """Reset the count for the client's address after a correct code or password."""
    AxesProxyHandler.reset_attempts(username=user.get_username(), ip_address=counted_address(request))


def limited_password_change(request: HttpRequest, view: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Return the response of Django's page, and count a wrong present password as a failed login.

    Without the count, someone with a stolen session could try passwords here without end.
    """
    if request.method != "POST":
        return view()
    if is_locked_out(request, request.user):
        return HttpResponse(status=429)  # replaced by the lockout page
    response = view()
    form = (getattr(response, "context_data", None) or {}).get("form")
    if form is None:  # a redirect, because the password was changed
        _record_password_change(request)
    elif form.has_error("old_password", "password_incorrect"):
        count_failed_reauthentication(request, request.user, _WRONG)
    return response


def _record_password_change(request: HttpRequest) -> None:
    user: Any = request.user
    forget_failures(request, user)
    text = "Password changed by the person."
    record(request, Event.Kind.ACCOUNT_CHANGED, target=user, message=text)


def _count(request: HttpRequest, user: Any) -> None:
    AxesProxyHandler.user_login_failed(sender=__name__, credentials=_credentials(user), request=request)


def _credentials(user: Any) -> dict[str, str]:
    return {"username": user.get_username()}
