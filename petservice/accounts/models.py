"""The models of staff accounts: an account with its role and state, the version of its sessions, and password links."""

import hashlib
import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone

from petservice.accounts.groups import GROUPS, PETS_AND_INVENTORY, PETS_INVENTORY_AND_KEYS
from petservice.time_zone import moment

# The log recognises tokens by this prefix, and removes them.
TOKEN_PREFIX = "pets_link_"  # noqa: S105  # not a secret
# Django marks a password that no login matches by this character.
UNUSABLE_PASSWORD = Q(password="") | Q(password__startswith="!")  # noqa: S106  # not a password


class Role(models.TextChoices):
    """A set of permissions that an account has. The name of a role with a group is that of the group."""

    PETS = PETS_AND_INVENTORY, PETS_AND_INVENTORY
    KEYS = PETS_INVENTORY_AND_KEYS, PETS_INVENTORY_AND_KEYS
    ADMINISTRATOR = "Administrator", "Administrator"
    # Other groups, or permissions that were given to the account itself.
    CUSTOM = "Custom", "Custom"


class State(models.TextChoices):
    """A state that decides whether a person can log in."""

    ACTIVE = "active", "Active"
    INVITED = "invited", "Invited"
    LOCKED = "locked", "Locked"
    DEACTIVATED = "deactivated", "Deactivated"
    NOT_STAFF = "other", "Not staff"


class Account(User):
    """A user as a staff account: the same row, with a role instead of permissions."""

    class Meta:
        proxy = True
        verbose_name = "staff account"
        verbose_name_plural = "staff accounts"
        default_permissions = ()  # only administrators manage accounts

    @property
    def full_name(self) -> str:
        return self.get_full_name()

    @property
    def role(self) -> Role:
        if self.is_superuser:
            return Role.ADMINISTRATOR
        groups = [group.name for group in self.groups.all()]
        is_role = len(groups) == 1 and groups[0] in GROUPS and not self.user_permissions.all()
        return Role(groups[0]) if is_role else Role.CUSTOM

    # Django stores this hash in each session, and ends a session whose hash is another one.

    def get_session_auth_hash(self) -> str:
        return self._versioned(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        yield from map(self._versioned, super().get_session_auth_fallback_hash())

    def _versioned(self, auth_hash: str) -> str:
        version: SessionVersion | None = getattr(self, "session_version", None)
        return f"{auth_hash}.{version.number}" if version else auth_hash


class SessionVersion(models.Model):
    """The current version of an account's sessions: sessions of earlier versions have ended.

    An account whose sessions were never ended has no version.
    """

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="session_version"
    )
    number = models.PositiveIntegerField(default=1)

    class Meta:
        default_permissions = ()


class PasswordLink(models.Model):
    """A link with which a person sets the password of an account, once. Only a digest of its token is stored."""

    class State(models.TextChoices):
        """A state of a link, with its label before a time. Only an open link can set a password."""

        OPEN = "open", "works until"
        USED = "used", "used at"
        WITHDRAWN = "withdrawn", "withdrawn at"
        EXPIRED = "expired", "expired at"

    LIFETIME = timedelta(days=3)

    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="password_links")
    digest = models.CharField(max_length=64, unique=True)
    # The form that created the link, so that sending a form twice creates one link.
    form_token = models.UUIDField(unique=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="created_password_links"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # When a newer link replaced this one, or when the account was deactivated.
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    @staticmethod
    def digest_of(token: str) -> str:
        return hashlib.sha256(token.encode()).hexdigest()

    @classmethod
    def create(cls, account: User, *, created_by: Any, form_token: UUID) -> tuple["PasswordLink", str]:
        """Create a link that replaces the account's open links, and return it with its token."""
        token = TOKEN_PREFIX + secrets.token_hex(24)
        cls.withdraw(account)
        link = cls.objects.create(
            account=account,
            digest=cls.digest_of(token),
            form_token=form_token,
            created_by=created_by,
            expires_at=timezone.now() + cls.LIFETIME,
        )
        return link, token

    @classmethod
    def withdraw(cls, account: User) -> None:
        """Make the open links of an account useless."""
        cls.objects.filter(account=account, used_at=None, withdrawn_at=None).update(withdrawn_at=timezone.now())

    def state(self, now: datetime) -> "PasswordLink.State":
        if self.used_at is not None:
            return self.State.USED
        if self.withdrawn_at is not None:
            return self.State.WITHDRAWN
        return self.State.OPEN if now < self.expires_at else self.State.EXPIRED

    def description(self, now: datetime) -> str:
        """Return in words who created the link, and whether it still works."""
        state = self.state(now)
        at = {self.State.USED: self.used_at, self.State.WITHDRAWN: self.withdrawn_at}.get(state) or self.expires_at
        return f"Created by {self.created_by or 'a deleted account'}, {state.label} {moment(at)}"
