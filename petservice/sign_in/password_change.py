"""The change of the person's own password, which limits guesses of the present one."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from petservice.journal.models import Event
from petservice.journal.recording import record
from petservice.sign_in import attempts

_WRONG = "Wrong present password on the page that changes the password."


def limited(request: HttpRequest, view: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Return the response of Django's page, and count a wrong present password as a failed login.

    Without the count, someone with a stolen session could try passwords here without end.
    """
    if request.method != "POST":
        return view()
    if attempts.is_locked_out(request, request.user):
        return HttpResponse(status=429)  # replaced by the lockout page
    response = view()
    form = (getattr(response, "context_data", None) or {}).get("form")
    if form is None:  # a redirect, because the password was changed
        _record(request)
    elif form.has_error("old_password", "password_incorrect"):
        attempts.count_failed_reauthentication(request, request.user, _WRONG)
    return response


def _record(request: HttpRequest) -> None:
    user: Any = request.user
    attempts.forget_failures(request, user)
    text = "Password changed by the person."
    record(request, Event.Kind.ACCOUNT_CHANGED, target=user, message=text)
