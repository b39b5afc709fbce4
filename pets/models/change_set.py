import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from pets.fields import PetIDField


class ChangeSet(models.Model):
    """A change that a member of staff made to one or many pets together, which can be undone for an hour."""

    class Kind(models.TextChoices):
        # The values are those of AuditEntry.Kind.
        CHANGED = "changed"
        DELETED = "deleted"
        IMPORTED = "imported"

    # Later than this, a change cannot be undone, and its record is deleted.
    LIFETIME = timedelta(hours=1)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=8, choices=Kind, editable=False)
    summary = models.CharField("change", max_length=1000, editable=False)
    count = models.PositiveIntegerField("pets", editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", editable=False)
    # The permissions that the change needed, separated by blanks. Undoing it needs the same permissions.
    permissions = models.CharField(max_length=255, editable=False)
    created_at = models.DateTimeField("time", default=timezone.now, db_index=True, editable=False)
    undone_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        default_permissions = ()
        verbose_name = "recent change"

    @classmethod
    def undoable(cls, *, now: datetime | None = None) -> models.QuerySet["ChangeSet"]:
        """Return the changes that can be undone now."""
        return cls.objects.filter(undone_at=None, created_at__gt=(now or timezone.now()) - cls.LIFETIME)


class ChangedPet(models.Model):
    """The values of one pet before and after a change, by the names of the changed fields.

    A pet that was added has no values before, and a deleted pet has none after. The trash has the values of the latter.
    """

    change_set = models.ForeignKey(ChangeSet, on_delete=models.CASCADE)
    pet_id = PetIDField()
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        default_permissions = ()
