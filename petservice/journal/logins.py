"""The audit of logins: logins and logouts, failed logins and lock-outs.

Strangers cause failed logins and lock-outs, so these are counted in few entries.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from axes.signals import user_locked_out
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.db.models import F
from django.dispatch import Signal, receiver
from django.http import HttpRequest
from django.utils import timezone

from petservice.client_address import network_of_client
from petservice.journal.models import Event
from petservice.journal.recording import add_event
from petservice.journal.retention import remove_old_events
from petservice.monitoring.counters import count

# The failures of one account from one address within this time are one entry with their number.
PERIOD = timedelta(minutes=15)
# Maximum number of entries of one kind in a period. Further failures are counted in one entry without an address.
MAX_ENTRIES = 500
_START = datetime(2000, 1, 1, tzinfo=UTC)


def add_event_of_failure(request: HttpRequest, kind: Event.Kind, username: str, *, now: datetime | None = None) -> None:
    """Count an event that a stranger may have caused. The entry has a name only if there is such an account."""
    with transaction.atomic():
        # Lock the account, so that two failures at the same time are counted in one entry.
        account = get_user_model().objects.select_for_update(no_key=True).filter(username=username).first()
        _count(kind, account, network_of_client(request), now or timezone.now())
        remove_old_events()


def _count(kind: Event.Kind, account: Any, address: str | None, now: datetime) -> None:
    period = Event.objects.filter(kind=kind, at__gte=now - (now - _START) % PERIOD, at__lte=now).order_by("pk")
    entry = period.filter(account=account, address=address).first()
    if entry is None and period[:MAX_ENTRIES].count() == MAX_ENTRIES:
        account = address = None
        entry = period.filter(account=None, address=None).first()
    if entry is not None:
        text = f"The last one was at {timezone.localtime(now):%H:%M:%S %Z}."
        Event.objects.filter(pk=entry.pk).update(count=F("count") + 1, message=text)
        return
    name = account.get_username() if account else ""
    Event.objects.create(kind=kind, at=now, account=account, account_name=name, address=address)


@receiver([user_logged_in, user_logged_out])
def _logged_in_or_out(signal: Signal, request: HttpRequest, user: Any, **kwargs: Any) -> None:
    kind = Event.Kind.LOGIN if signal is user_logged_in else Event.Kind.LOGOUT
    count("logins", kind)
    with transaction.atomic():
        add_event(request, kind, account=user)
        remove_old_events()


@receiver(user_login_failed)
def _login_failed(credentials: dict[str, Any], request: Any = None, **kwargs: Any) -> None:
    if request is not None and not _is_refused(request):
        count("logins", Event.Kind.LOGIN_FAILED)
        add_event_of_failure(request, Event.Kind.LOGIN_FAILED, credentials.get("username") or "")


@receiver(user_locked_out)
def _locked_out(request: Any, username: str | None, **kwargs: Any) -> None:
    count("logins", Event.Kind.LOCKED_OUT)
    if not _is_refused(request):
        add_event_of_failure(request, Event.Kind.LOCKED_OUT, username or "")


def _is_refused(request: Any) -> bool:
    """Return whether the login was refused because of an earlier lock-out. django-axes counts only other failures."""
    return getattr(request, "axes_locked_out", False) and getattr(request, "axes_failures_since_start", None) is None
