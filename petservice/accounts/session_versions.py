"""The sessions of accounts: which are valid, and how all sessions of an account end."""

from typing import Any

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.db.models import F
from django.http import HttpRequest

from petservice.accounts.models import Account, SessionVersion


class AccountBackend(ModelBackend):
    """A backend that returns the account of a session together with the version of its sessions, in one query.

    Django compares the hash of the account, which contains the version, with that of the session.
    """

    def get_user(self, user_id: int) -> Account | None:
        account = Account.objects.select_related("session_version").filter(pk=user_id).first()
        return account if account is not None and self.user_can_authenticate(account) else None


def begin(sender: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Store the current version of the account's sessions in a session that begins."""
    account = Account.objects.select_related("session_version").get(pk=user.pk)
    request.session[HASH_SESSION_KEY] = account.get_session_auth_hash()


def end_all(account: User) -> None:
    """End all sessions of an account with its next request, at the cost of one row."""
    # A new row keeps its first number, because earlier sessions have none and so end as well.
    SessionVersion.objects.update_or_create(
        account_id=account.pk, defaults={"number": F("number") + 1}, create_defaults={}
    )
