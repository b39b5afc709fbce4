"""The models of staff accounts: an account with its role and state, and password links."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import models
from django.db.models import Q
from django.utils import timezone

from petservice.accounts.groups import GROUPS, PETS_AND_INVENTORY, PETS_INVENTORY_AND_KEYS
from petservice.configuration.time_zone import moment

# Django marks a password that no login matches by this character.
UNUSABLE_PASSWORD = Q(password="") | Q(password__startswith="!")  # noqa: S106  # not a password


class Role(models.TextChoices):
    """A set of permissions that an account has. A role with a group has the name of the group as its value."""

    PETS = PETS_AND_INVENTORY, "Pets and inventory: add, change and delete pets, and change statuses"
    KEYS = (
        PETS_INVENTORY_AND_KEYS,
        "Pets, inventory and API keys: the same, and create, rotate and revoke API keys",
    )
    ADMINISTRATOR = "Administrator", "Administrator: everything, including staff accounts"
    # Other groups, or permissions that were given to the account itself.
    CUSTOM = "Custom", "Custom: keep the groups and permissions that were set by hand"


class Account(User):
    """A user as a staff account: the same row, with a role instead of permissions."""

    class State(models.TextChoices):
        """A state that decides whether a person can log in."""

        ACTIVE = "active"
        INVITED = "invited"
        LOCKED = "locked"
        DEACTIVATED = "deactivated"
        NOT_STAFF = "other", "Not staff"

    class SecondFactor(models.TextChoices):
        """Whether an account has a second factor."""

        ON = "on"
        OFF = "off"

    class Meta:
        proxy = True
        verbose_name = "staff account"
        verbose_name_plural = "staff accounts"
        default_permissions = ()  # only administrators manage accounts

    full_name = property(User.get_full_name)

    @property
    def role(self) -> Role:
        if self.is_superuser:
            return Role.ADMINISTRATOR
        groups = [group.name for group in self.groups.all()]
        is_role = len(groups) == 1 and groups[0] in GROUPS and not self.user_permissions.all()
        return Role(groups[0]) if is_role else Role.CUSTOM

    @property
    def role_text(self) -> str:
        """The role, with the groups and permissions of a custom role."""
        if self.role != Role.CUSTOM:
            return str(self.role)
        given = {
            "groups": sorted(group.name for group in self.groups.all()),
            "permissions": sorted(permission.name for permission in self.user_permissions.all()),
        }
        parts = [f"{kind}: {', '.join(names)}" for kind, names in given.items() if names]
        return f"{Role.CUSTOM} ({'; '.join(parts) or 'no groups and no permissions'})"

    def assign_role(self, role: Role) -> None:
        """Give the account exactly the permissions of a role."""
        self.is_superuser = role == Role.ADMINISTRATOR
        self.save(update_fields=["is_superuser"])
        self.groups.set([] if self.is_superuser else [Group.objects.get(name=role)])
        self.user_permissions.clear()


class PasswordLink(models.Model):
    """A link that an administrator has created for an account. Only the newest one works, and no token is stored."""

    account = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="password_links")
    # The form that created the link, so that sending a form twice creates one link. It is also a part of the signature.
    form_token = models.UUIDField(unique=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="created_password_links"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        by, at = self.created_by or "a deleted account", self.expires_at
        if at <= timezone.now():
            return f"created by {by}, expired at {moment(at)}"
        return f"created by {by}, works until a password is set, at most until {moment(at)}"

    @property
    def expires_at(self) -> datetime:
        return self.created_at + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
