"""The rules for staff accounts, and their changes, which expect the caller's transaction with the account locked."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db.models import Q, QuerySet
from django.utils import timezone

from petservice.accounts.models import UNUSABLE_PASSWORD, Account, PasswordLink, Role


def lock(pk: int) -> None:
    """Lock an account and all administrators until the transaction ends.

    Without the lock, two administrators could deactivate each other at the same time.
    """
    list(Account.objects.select_for_update().filter(Q(pk=pk) | Q(is_superuser=True)).order_by("pk"))


def usable_administrators() -> QuerySet[Account]:
    """Return the administrators who can log in: active staff with a password."""
    return Account.objects.filter(is_superuser=True, is_active=True, is_staff=True).exclude(UNUSABLE_PASSWORD)


def reason_to_stay_administrator(account: User, actor: Any) -> str | None:
    """Return why an account must stay an active administrator, or None if it need not."""
    if not account.is_superuser:
        return None
    if account.pk == actor.pk:
        return "This is your own account. Ask another administrator to do this."
    if not usable_administrators().exclude(pk=account.pk).exists():
        return f"{account} is the only administrator who can log in. Make another account an administrator first."
    return None


def role_text(account: Account) -> str:
    """Return the role of an account, with the groups and permissions of a custom role."""
    if account.role != Role.CUSTOM:
        return str(account.role)
    given = {
        "groups": sorted(group.name for group in account.groups.all()),
        "permissions": sorted(permission.name for permission in account.user_permissions.all()),
    }
    parts = [f"{kind}: {', '.join(names)}" for kind, names in given.items() if names]
    return f"{Role.CUSTOM} ({'; '.join(parts) or 'no groups and no permissions'})"


def assign_role(account: Account, role: Role) -> None:
    """Give an account exactly the permissions of a role."""
    account.is_superuser = role == Role.ADMINISTRATOR
    account.save(update_fields=["is_superuser"])
    account.groups.set([] if account.is_superuser else [Group.objects.get(name=role)])
    account.user_permissions.clear()


def end_sessions(account: User) -> None:
    """End all sessions of an account with its next request."""
    # Django's table does not say whose they are, and has few, because only staff have sessions.
    for session in Session.objects.filter(expire_date__gt=timezone.now()):
        if session.get_decoded().get(SESSION_KEY) == str(account.pk):
            session.delete()


def deactivate(account: Account) -> None:
    """Prevent logins of an account, end its sessions, and delete its links."""
    account.is_active = False
    account.save(update_fields=["is_active"])
    end_sessions(account)
    PasswordLink.objects.filter(account=account).delete()


def reactivate(account: Account) -> None:
    """Allow logins of an account again."""
    account.is_active = True
    account.save(update_fields=["is_active"])
    # A login that was in progress during the deactivation may have begun a session since.
    end_sessions(account)
