"""Limits on guessing passwords and codes, with django-axes: what it counts and stores, and the pages for locked logins.

Wrong codes, and wrong present passwords of people who change theirs, count together with failed logins.
"""

from datetime import timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.db import transaction
from django.db.models import Max, QuerySet
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from petservice.admin_pages.staff_page import failure_page
from petservice.client_address import network_of_client
from petservice.journal.models import Event
from petservice.journal.recording import add_event_of_command


class LoginAttempts(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """A handler that keeps one row for each account and address, without the browser."""

    def user_login_failed(self, sender: Any, credentials: dict[str, Any], request: Any = None, **kwargs: Any) -> None:
        """Count a failed login."""
        request.axes_user_agent = request.axes_http_accept = ""
        super().user_login_failed(sender, credentials, request, **kwargs)

    @transaction.atomic
    def reset_attempts(self, **which: Any) -> int:
        """Delete failed logins for one of the commands of django-axes, and record each account that this unlocks."""
        before = {*lockouts().values_list("username", "ip_address")}
        count: int = super().reset_attempts(**which)
        unlocked = before - {*lockouts().values_list("username", "ip_address")}
        for account in User.objects.filter(username__in=[name for name, _ in unlocked]):
            done, message = "The account is unlocked.", "Unlocked by a command."
            add_event_of_command(BaseCommand(), Event.Kind.ACCOUNT_CHANGED, done, target=account, message=message)
        return count


@receiver(pre_save, sender=AccessAttempt)
def clear_form_data(instance: AccessAttempt, **kwargs: Any) -> None:
    """Remove the form data from a failed login before it is saved, because axes masks only one password field."""
    instance.get_data = instance.post_data = ""


def lockouts() -> QuerySet[AccessAttempt]:
    """Return the failed logins that block an account from an address now."""
    return AccessAttempt.objects.filter(  # type: ignore[no-any-return]  # axes has no types
        failures_since_start__gte=settings.AXES_FAILURE_LIMIT,
        attempt_time__gt=timezone.now() - settings.AXES_COOLOFF_TIME,
    )


def counted_address(request: HttpRequest) -> str:
    """Return the client's IPv4 address or IPv6 network, for which requests and failures are counted."""
    return network_of_client(request) or "0.0.0.0"  # noqa: S104  # through a unix socket without X-Forwarded-For


def too_many_logins() -> HttpResponse:
    """Return the page for a login whose password was not checked, because too many are in progress."""
    page = failure_page(
        429,
        "Too many logins at the same time",
        "Many other people are logging in at this moment. Your password was not checked.",
        "Wait a few seconds, go back and send the form again.",
    )
    page.headers["Retry-After"] = "5"
    return page


def locked_out(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any]) -> HttpResponse:
    """Return the page for a locked login, which is the same for existing and unknown accounts."""
    now = timezone.now()
    (attempts,) = LoginAttempts().get_user_attempts(request, credentials)
    # There is no time if the account was unlocked a moment ago.
    last = attempts.aggregate(last=Max("attempt_time"))["last"] or now
    # One second later than needed, because the displayed time and the header have no fractions of a second.
    end = last + settings.AXES_COOLOFF_TIME + timedelta(seconds=1)
    page = failure_page(
        429,
        "Too many failed logins",
        "There were too many failed logins for this account from your network. To stop guessing, passwords "
        "and codes are rejected until the time below, even if they are correct.",
        f"Try again at {timezone.localtime(end):%H:%M:%S %Z}.",
        "If it is urgent, ask an administrator to unlock the account.",
    )
    page.headers["Retry-After"] = str(int((end - now).total_seconds()))
    return page
