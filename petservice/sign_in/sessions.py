"""The end of sessions: 12 hours after the login, and on a shared computer after 30 minutes without a request.

Django stores the time at which a session ends. It is written at the login, and on shared computers once a minute.
"""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import SessionBase
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

LIFETIME = timedelta(hours=12)
IDLE_LIFETIME = timedelta(minutes=30)
# The time after a login in which API keys and accounts can be changed.
RECENT = timedelta(minutes=15)
# How much of the idle time must have passed before it is written again, so that most requests write nothing.
_WRITE_AFTER = timedelta(minutes=1)

# The field of the login form, and its key in the session.
IS_SHARED = "is_shared"
_ENDS_AT = "ends_at"


@receiver(user_logged_in)
def begin(sender: Any, request: HttpRequest, user: Any, **kwargs: Any) -> None:
    """Set the end of a session that begins with a login, whose form says whether the computer is shared."""
    request.session[_ENDS_AT] = (timezone.now() + LIFETIME).isoformat()
    request.session[IS_SHARED] = IS_SHARED in request.POST
    _set_end(request.session)


def is_recent(session: SessionBase) -> bool:
    """Return whether the login of a session is recent enough to change API keys and accounts."""
    ends_at = session.get(_ENDS_AT)
    return ends_at is not None and timezone.now() < datetime.fromisoformat(ends_at) - LIFETIME + RECENT


def continue_session(session: SessionBase) -> None:
    """Postpone the end of a session on a shared computer, because a request has come."""
    if session.get(IS_SHARED) and session.get_expiry_date() - timezone.now() < IDLE_LIFETIME - _WRITE_AFTER:
        _set_end(session)


def _set_end(session: SessionBase) -> None:
    ends_at = datetime.fromisoformat(session[_ENDS_AT])
    session.set_expiry(min(timezone.now() + IDLE_LIFETIME, ends_at) if session.get(IS_SHARED) else ends_at)
