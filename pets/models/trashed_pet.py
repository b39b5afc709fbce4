from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

from pets.case_insensitive import CaseInsensitive
from pets.fields import PetIDField
from petservice.db.lookups import Among


class TrashedPet(models.Model):
    """A pet that staff deleted, with all its values, which can be put back for 30 days.

    It is a table of its own, so that no query of the API and no trigger of the inventory needs a condition.
    An import may create a pet with the id of a deleted one. When it is deleted too, both are in the trash.
    """

    # Later than this, a pet cannot be put back, and its row is deleted.
    LIFETIME = timedelta(days=30)

    id = PetIDField(verbose_name="ID", primary_key=True, editable=False)
    name = models.CharField(max_length=255, editable=False)
    tag = models.CharField(max_length=255, null=True, editable=False)
    status = models.CharField(max_length=9, editable=False)
    created_at = models.DateTimeField(editable=False)
    created_by = models.CharField(max_length=255, null=True, editable=False)
    deleted_at = models.DateTimeField(editable=False)
    deleted_by = models.CharField(max_length=150, editable=False)
    # The id of the pet, if another one with this id was in the trash already. Else it is the key of the row.
    pet_id = PetIDField(null=True, editable=False)

    class Meta:
        default_permissions = ()
        verbose_name = "deleted pet"
        verbose_name_plural = "trash"
        # For the list of the trash, for its search, for the deletion of expired rows, and for an undo.
        indexes = [
            models.Index(fields=["deleted_at", "id"], name="pets_trashedpet_deleted"),
            models.Index(CaseInsensitive("name"), "id", name="pets_trashedpet_name"),
            models.Index(fields=["pet_id"], name="pets_trashedpet_pet"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def original_id(self) -> str:
        """Return the id that the pet had, and gets back."""
        return self.pet_id or self.pk

    @classmethod
    def of_pets(cls, ids: Sequence[str]) -> models.QuerySet["TrashedPet"]:
        """Return the deleted pets that had these ids."""
        return cls.objects.filter(models.Q(Among("pk", ids)) | models.Q(Among("pet_id", ids)))

    @classmethod
    def unexpired(cls, *, now: datetime | None = None) -> models.QuerySet["TrashedPet"]:
        """Return the pets that can be put back now."""
        return cls.objects.filter(deleted_at__gt=(now or timezone.now()) - cls.LIFETIME)
