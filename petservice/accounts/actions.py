"""The actions on one staff account, each with the texts of its confirmation page."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest

from petservice.accounts import services
from petservice.accounts.models import Account
from petservice.sign_in import factors, login_limits


@dataclass(frozen=True)
class Action:
    """An action on an account. The texts contain {account} and {role}."""

    verb: str  # the last part of its URL
    label: str
    explanation: str
    is_available: Callable[[Account], bool]
    # The reason if it is not available.
    unavailable: str
    perform: Callable[[HttpRequest, Account], object] = lambda request, account: None
    # The texts for the journal and for the message afterwards. Without an entry, `perform` writes it.
    entry: str = ""
    done: str = ""
    is_dangerous: bool = False


def _end_sessions(request: HttpRequest, account: Account) -> None:
    services.end_sessions(account)
    if account.pk == request.user.pk:
        request.session.flush()  # otherwise the middleware might write this session again


def _reset_second_factor(request: HttpRequest, account: Account) -> None:
    factors.remove(request, account, message="Reset by an administrator.")


LINK = Action(
    "link",
    "New password link",
    "This creates a link with which {account} sets a new password. It works once, and for three days. Earlier links "
    "of the account stop working. The present password, if there is one, works until a new one is set.",
    lambda account: account.is_active,
    "The account {account} is deactivated, so no link was created. Reactivate the account first.",
)
UNLOCK = Action(
    "unlock",
    "Unlock",
    "{account} is locked after too many failed logins. If someone tried to guess the password, create a password link "
    "instead. The account is unlocked when the link is used.",
    lambda account: login_limits.is_locked(account.get_username()),
    "The account {account} is not locked. Nothing was changed.",
    lambda request, account: login_limits.unlock(account.get_username()),
    "Unlocked.",
    "The account {account} is unlocked and can log in again.",
)
END_SESSIONS = Action(
    "end-sessions",
    "End all sessions",
    "Everyone who is logged in as {account} must log in again, on all devices and in all browsers. Nothing that is "
    "saved is lost.",
    lambda account: account.is_active,
    "The account {account} is deactivated and has no sessions. Nothing was changed.",
    _end_sessions,
    "All sessions ended.",
    "All sessions of {account} have ended.",
)
DEACTIVATE = Action(
    "deactivate",
    "Deactivate",
    "{account} cannot log in any more. All sessions of the account end, and its password links stop working. The "
    "account keeps its name, its role and its history, and you can reactivate it later.",
    lambda account: account.is_active,
    "The account {account} is already deactivated. Nothing was changed.",
    lambda request, account: services.deactivate(account),
    "Deactivated. All sessions ended.",
    "The account {account} is deactivated. All sessions of the account have ended.",
    is_dangerous=True,
)
REACTIVATE = Action(
    "reactivate",
    "Reactivate",
    "{account} can log in again with the present password and the role {role}. If the password is forgotten or was "
    "never set, create a password link afterwards.",
    lambda account: not account.is_active,
    "The account {account} is already active. Nothing was changed.",
    lambda request, account: services.reactivate(account),
    "Reactivated.",
    "The account {account} is active again.",
)
RESET_SECOND_FACTOR = Action(
    "reset-second-factor",
    "Reset second factor",
    "The next login of {account} needs only the password. Do this only if {account} has asked you in person, because "
    "the device is lost.",
    factors.is_set_up,
    "The account {account} has no second factor. Nothing was changed.",
    _reset_second_factor,
    done="The second factor of {account} was reset. The next login needs only the password.",
    is_dangerous=True,
)
# In the order of the buttons.
ACTIONS = (LINK, UNLOCK, END_SESSIONS, REACTIVATE, DEACTIVATE, RESET_SECOND_FACTOR)
