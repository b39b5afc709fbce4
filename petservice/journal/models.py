"""The models of the journal."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Case, Min, OuterRef, Q, Subquery, When
from django.utils import timezone


class EventQuerySet(models.QuerySet["Event"]):
    """The queries for events."""

    def of_undo_period(self) -> "EventQuerySet":
        """Return the changes that can be undone now, and those that were undone, of the last hour."""
        return self.filter(at__gt=timezone.now() - Event.UNDO_PERIOD).exclude(permissions="")

    def undoable(self) -> "EventQuerySet":
        """Return the changes that can be undone now."""
        return self.of_undo_period().filter(undone_by=None)

    def with_record(self) -> "EventQuerySet":
        """Return the events with the `record_id` and `record_name` of the first item, for events about one record."""
        # The least key is an aggregate, because for the first of ordered items PostgreSQL may read all items in that
        # order, if most events have many.
        items = Item.objects.filter(event=OuterRef(OuterRef("pk"))).values("event")
        first = Item.objects.filter(pk=Subquery(items.annotate(first=Min("pk")).values("first")))

        def of_one(column: str) -> Case:
            return Case(When(count=1, then=Subquery(first.values(column))))

        return self.annotate(record_id=of_one("record_id"), record_name=of_one("record_name"))


class Event(models.Model):
    """A login, a change of one or many records, or another act that someone may have to look up later.

    Only these change a committed event: its undo, repeated failures of a login, retention, which removes old addresses,
    and the deletion of its account.
    """

    class Kind(models.TextChoices):
        LOGIN = "login"
        LOGIN_FAILED = "login_failed", "Failed login"
        LOCKED_OUT = "locked_out", "Lock-out"
        LOGOUT = "logout"
        ADDED = "added"
        CHANGED = "changed"
        STATUS = "status"
        SOLD = "sold"
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

    class RecordType(models.TextChoices):
        """The models of which the audit has records, with their names for people. Users and staff accounts are one."""

        API_KEY = "apikeys.apikey", "API key"
        AUDIT = "journal.event", "audit"
        GROUP = "auth.group", "group"
        PET = "pets.pet", "pet"
        STAFF_ACCOUNT = "auth.user", "staff account"

    # Later than this, a change cannot be undone.
    UNDO_PERIOD = timedelta(hours=1)

    at = models.DateTimeField("time", default=timezone.now, editable=False)
    kind = models.CharField(max_length=20, choices=Kind, editable=False)
    # The name stays readable after the account is deleted. A failed login has a name only if the account exists.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    account_name = models.CharField("person", max_length=150, blank=True, editable=False)
    address = models.GenericIPAddressField(null=True, editable=False)
    # The model of the records, and their number. The items name the records.
    record_type = models.CharField(max_length=100, blank=True, editable=False, choices=RecordType)
    count = models.PositiveIntegerField("number", default=1, editable=False)
    message = models.TextField("change", blank=True, editable=False)
    # The permissions that an undo needs, separated by blanks. Without any, the event cannot be undone.
    permissions = models.CharField(max_length=255, blank=True, editable=False)
    # The form that added records, so that it adds nothing when it is sent again.
    form_token = models.UUIDField(null=True, editable=False)
    undone_by = models.ForeignKey("self", null=True, editable=False, on_delete=models.SET_NULL, related_name="+")

    objects = EventQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        verbose_name_plural = "audit"
        ordering = ["-at", "-pk"]
        # One for each combination of equal values that the audit filters by, in the order of the page.
        indexes = [
            models.Index(fields=["at", "id"], name="journal_at"),
            models.Index(fields=["account_name", "at", "id"], name="journal_account"),
            models.Index(fields=["kind", "at", "id"], name="journal_kind"),
            models.Index(fields=["record_type", "at", "id"], name="journal_type"),
            models.Index(fields=["account_name", "kind", "at", "id"], name="journal_account_kind"),
            models.Index(fields=["account_name", "record_type", "at", "id"], name="journal_account_type"),
            models.Index(fields=["kind", "record_type", "at", "id"], name="journal_kind_type"),
            models.Index(fields=["account_name", "kind", "record_type", "at", "id"], name="journal_account_kind_type"),
            # For the removal of old addresses.
            models.Index(fields=["at"], condition=Q(address__isnull=False), name="journal_address"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.message}" if self.message else self.get_kind_display()


class Item(models.Model):
    """A record that an event is about, with the values of its changed fields before and after.

    A record that was added has no values before, and a record that ended has none after. Events whose message tells
    the change, for example of an API key, have items without values.
    """

    # Later than this, a deleted record cannot be put back, and its values are removed.
    TRASH_PERIOD = timedelta(days=30)

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="items", editable=False)
    record_id = models.CharField("ID", max_length=255, editable=False)
    record_name = models.CharField("name", max_length=255, editable=False)
    before = models.JSONField(null=True, editable=False)
    after = models.JSONField(null=True, editable=False)
    # What changed, if neither the values nor the message of the event tell it.
    message = models.TextField(blank=True, editable=False)
    # The version of the record after the change, if its records have versions.
    version = models.IntegerField(null=True, editable=False)
    # Until when the record is in the trash, or null if it is not there.
    in_trash_until = models.DateTimeField(null=True, editable=False)
    # The name as a search in the trash compares it, or null if the record never was there.
    folded_name = models.TextField(null=True, editable=False)

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index(fields=["record_id", "event"], name="journal_record"),
            models.Index(
                fields=["in_trash_until", "id"], condition=Q(in_trash_until__isnull=False), name="journal_trash"
            ),
        ]

    def __str__(self) -> str:
        return self.record_name
