"""The model of an entry in the audit."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class AuditEntry(models.Model):
    """An event that an administrator may have to look up later. Entries are added, and never changed."""

    class Kind(models.TextChoices):
        LOGIN = "login"
        LOGIN_FAILED = "login_failed", "Failed login"
        LOCKED_OUT = "locked_out", "Lock-out"
        LOGOUT = "logout"
        ADDED = "added"
        CHANGED = "changed"
        DELETED = "deleted"
        UNDONE = "undone"
        RESTORED = "restored"
        EXPORTED = "exported"
        IMPORTED = "imported"
        KEY_CREATED = "key_created", "API key created"
        KEY_CHANGED = "key_changed", "API key changed"
        KEY_ROTATED = "key_rotated", "API key rotated"
        KEY_REVOKED = "key_revoked", "API key revoked"
        ACCOUNT_ADDED = "account_added", "Account added"
        ACCOUNT_CHANGED = "account_changed", "Account changed"
        SECOND_FACTOR = "second_factor", "Second factor"

    at = models.DateTimeField(default=timezone.now, editable=False)
    kind = models.CharField(max_length=20, choices=Kind, editable=False)
    # The name stays readable after the account is deleted. A failed login has a name only if the account exists.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    account_name = models.CharField(max_length=150, blank=True, editable=False)
    address = models.GenericIPAddressField(null=True, editable=False)
    # The changed record: its model, such as `pets.pet`, its id and its name. All are empty for events without a record.
    record_type = models.CharField(max_length=100, blank=True, editable=False)
    record_id = models.CharField(max_length=255, blank=True, editable=False)
    record_name = models.CharField(max_length=255, blank=True, editable=False)
    # The number of records that a bulk action affected.
    count = models.PositiveIntegerField(default=1, editable=False)
    message = models.TextField(blank=True, editable=False)

    class Meta:
        verbose_name = "audit entry"
        verbose_name_plural = "audit"
        ordering = ["-at", "-pk"]
        # One for each combination of equal values that a page filters by, in the order of the page. A record has few
        # entries, so its index fits all combinations with the id of a record.
        indexes = [
            models.Index(fields=["at", "id"], name="audit_at"),
            models.Index(fields=["account_name", "at", "id"], name="audit_account"),
            models.Index(fields=["kind", "at", "id"], name="audit_kind"),
            models.Index(fields=["record_type", "at", "id"], name="audit_type"),
            models.Index(fields=["account_name", "kind", "at", "id"], name="audit_account_kind"),
            models.Index(fields=["account_name", "record_type", "at", "id"], name="audit_account_type"),
            models.Index(fields=["kind", "record_type", "at", "id"], name="audit_kind_type"),
            models.Index(fields=["account_name", "kind", "record_type", "at", "id"], name="audit_account_kind_type"),
            models.Index(fields=["record_type", "record_id", "at", "id"], name="audit_record"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.message or self.record_name}"
