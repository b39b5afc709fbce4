"""How many guesses at a password there are: django-axes, told what to count by, what to keep and what to answer."""

import math
from datetime import timedelta
from importlib import import_module
from ipaddress import IPv6Address, ip_network
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import get_user
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.utils import timezone

from petservice.backoffice.error_views import failure_page
from petservice.client_address import client_address

# The name in a request's META that stands for a login to be refused.
_REFUSED = "petservice.login_refused"
# Stands for whoever calls through a unix socket without saying from where.
UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104  # not bound to


class LoginForm(AdminAuthenticationForm):
    """The admin's, which in addition refuses a name that is too long for any account, and for the record."""

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        longest = self.fields["username"].max_length  # type: ignore[attr-defined]  # which Django tells the browser only
        if len(name) > longest:
            raise ValidationError(f"No account has a name of more than {longest} characters.")
        return name


class LoginAttempts(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """One record for each account and address, whatever browser the client says it has."""

    def user_login_failed(self, sender: Any, credentials: dict[str, Any], request: Any = None, **kwargs: Any) -> None:
        """Counts a failure."""
        request.axes_user_agent = request.axes_http_accept = ""
        super().user_login_failed(sender, credentials, request, **kwargs)


def keep_nothing_sent(instance: AccessAttempt, **kwargs: Any) -> None:
    """Keeps what was sent out of a record that is about to be saved: axes knows passwords by one name only."""
    instance.get_data = instance.post_data = ""


def counted_address(request: HttpRequest) -> str:
    """The client's address, or of IPv6 its network's: a single host there has as many addresses as it likes."""
    address = client_address(
        request.META.get("REMOTE_ADDR"), request.META.get("HTTP_X_FORWARDED_FOR", ""), settings.TRUSTED_PROXIES
    )
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False).network_address)
    return str(address or UNKNOWN_ADDRESS)


def staff_account(request: HttpRequest) -> int | None:
    """Return the id of the account that a request's session belongs to, None if it is not that of staff."""
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(
        request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    )
    try:
        user = get_user(request)
    finally:
        connection.close_if_unusable_or_obsolete()
    return user.pk if user.is_active and user.is_staff else None


def refuse_login(request: HttpRequest) -> None:
    """Have a login refused, without a look at the password, because too many are under way."""
    request.META[_REFUSED] = True


def too_many_at_once(request: HttpRequest) -> HttpResponse | None:
    """Return the page that says so for a login that is to be refused, None for any other."""
    if _REFUSED not in request.META:
        return None
    page = failure_page(
        429,
        "Too many logins at once",
        "Many others are logging in at this moment. Your password has not been looked at.",
        "Wait a few seconds, go back, and send the form once more.",
    )
    page.headers["Retry-After"] = "5"
    return page


def locked_out(request: HttpRequest, response: HttpResponse, credentials: dict[str, Any]) -> HttpResponse:
    """Says when to try again, in place of `response`; the same whether there is such an account or not."""
    now = timezone.now()
    (attempts,) = LoginAttempts().get_user_attempts(request, credentials)
    # None if somebody has unlocked it meanwhile.
    last = attempts.aggregate(last=Max("attempt_time"))["last"] or now
    # A second later than needed, as neither the clock time nor the header has fractions.
    end = last + settings.AXES_COOLOFF_TIME + timedelta(seconds=1)
    seconds = math.floor((end - now).total_seconds())
    minutes = math.ceil(seconds / 60)
    page = failure_page(
        429,
        "Too many failed logins",
        "The password for this account was wrong too many times from where you are. So that nobody can go on guessing, "
        "none is tried until the time below, not even the right one.",
        f"Try again in {minutes} minute{pluralize(minutes)}, at {timezone.localtime(end):%H:%M:%S %Z}.",
        "If it cannot wait, an administrator of this service can unlock the account.",
    )
    page.headers["Retry-After"] = str(seconds)
    return page
