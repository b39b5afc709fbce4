"""The rules for staff accounts, and the actions of administrators on one account, with the texts of each.

Changes expect the caller's transaction with the accounts locked.
"""

from dataclasses import dataclass
from typing import Any

from axes.models import AccessAttempt
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from petservice.accounts.models import Account, PasswordLink
from petservice.sign_in import factors, login_limits

# Administrators cannot deactivate or demote themselves, so one who can log in is always left.
OWN_ACCOUNT = "Nothing was changed: this is your own account. Ask another administrator to do this."


def lock() -> None:
    """Lock all accounts, which are few, until the transaction ends.

    Without the lock, two administrators could deactivate each other at the same time.
    """
    list(Account.objects.select_for_update(no_key=True).order_by("pk"))


def end_sessions(account: User) -> None:
    """End all sessions of an account with its next request."""
    # Django's table does not say whose they are, and has few, because only staff have sessions.
    for session in Session.objects.filter(expire_date__gt=timezone.now()):
        if session.get_decoded().get(SESSION_KEY) == str(account.pk):
            session.delete()


@dataclass(frozen=True)
class Action:
    """The texts of an action on an account; the explanation contains {account} and {role}."""

    verb: str  # the last part of its URL
    label: str
    explanation: str
    done: str = ""  # for the journal and for the message afterwards
    is_dangerous: bool = False


LINK = Action(
    "link",
    "New password link",
    "This creates a link with which {account} sets a new password. It works once, and for three days. Earlier links "
    "of the account stop working. The present password, if there is one, works until a new one is set.",
)
UNLOCK = Action(
    "unlock",
    "Unlock",
    "{account} is locked after too many failed logins. If someone tried to guess the password, create a password link "
    "instead. The account is unlocked when the link is used.",
    "Unlocked.",
)
END_SESSIONS = Action(
    "end-sessions",
    "End all sessions",
    "Everyone who is logged in as {account} must log in again, on all devices and in all browsers. Nothing that is "
    "saved is lost.",
    "All sessions ended.",
)
DEACTIVATE = Action(
    "deactivate",
    "Deactivate",
    "{account} cannot log in any more. All sessions of the account end, and its password links stop working. The "
    "account keeps its name, its role and its history, and you can reactivate it later.",
    "Deactivated. All sessions ended.",
    is_dangerous=True,
)
REACTIVATE = Action(
    "reactivate",
    "Reactivate",
    "{account} can log in again with the present password and the role {role}. If the password is forgotten or was "
    "never set, create a password link afterwards.",
    "Reactivated.",
)
RESET_SECOND_FACTOR = Action(
    "reset-second-factor",
    "Reset second factor",
    "The next login of {account} needs only the password. Do this only if {account} has asked you in person, because "
    "the device is lost.",
    "Second factor reset by an administrator.",
    is_dangerous=True,
)
# In the order of the buttons.
ACTIONS = (LINK, UNLOCK, END_SESSIONS, REACTIVATE, DEACTIVATE, RESET_SECOND_FACTOR)


def reason_against(action: Action, account: Account, actor: Any) -> str | None:
    """Return why someone cannot perform an action on an account now, or None if it is possible."""
    if action in (DEACTIVATE, RESET_SECOND_FACTOR) and account.pk == actor.pk:
        return OWN_ACCOUNT
    if action is UNLOCK:
        is_available = login_limits.lockouts().filter(username=account.get_username()).exists()
    elif action is RESET_SECOND_FACTOR:
        is_available = factors.is_set_up(account)
    else:
        is_available = account.is_active != (action is REACTIVATE)
    text = f"“{action.label}” is not possible in the present state of the account {account}. Nothing was changed."
    return None if is_available else text


def perform(action: Action, request: HttpRequest, account: Account) -> None:
    """Perform any action but the creation of a link, which is shown in the response."""
    if action is UNLOCK:
        AccessAttempt.objects.filter(username=account.get_username()).delete()
    if action is RESET_SECOND_FACTOR:
        factors.remove(request, account, message=action.done)
    if action in (DEACTIVATE, REACTIVATE):
        account.is_active = action is REACTIVATE
        account.save(update_fields=["is_active"])
    if action in (DEACTIVATE, REACTIVATE, END_SESSIONS):
        # Also of a reactivated account, because a login that was in progress before may have begun a session since.
        end_sessions(account)
    if action is DEACTIVATE:
        PasswordLink.objects.filter(account=account).delete()
    if action is END_SESSIONS and account.pk == request.user.pk:
        request.session.flush()  # otherwise the middleware might write this session again
