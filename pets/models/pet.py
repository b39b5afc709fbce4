from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from pets.any_case import AnyCase
from pets.fields import OPTIONAL_TEXTS, PetIDField, new_pet_id
from petservice.api.validators import NOT_BLANK


def validate_not_blank(value: str) -> None:
    """Refuse text of white space only."""
    if not NOT_BLANK.search(value):
        raise ValidationError("Enter at least one character that is not white space.", code="blank")


class Pet(models.Model):
    """A pet. The API shows its id and its texts (pets.fields); its status is the store's own business."""

    class Status(models.TextChoices):
        # The API shows a count of each (store.serializers), so one more is a change of the contract. It needs a
        # migration of `pets`, with KeepTriggers (petservice.db.operations), and one of `store`.
        AVAILABLE = "available"
        PENDING = "pending"
        SOLD = "sold"

    id = PetIDField(primary_key=True, default=new_pet_id, editable=False)
    name = models.CharField(max_length=255, validators=[validate_not_blank])
    tag = models.CharField(
        max_length=255,
        null=True,  # without a tag the API shows no such member, which is not an empty one
        blank=True,
        validators=[validate_not_blank],
        help_text="A category, for example the kind of animal. Optional.",
    )
    status = models.CharField(max_length=9, choices=Status, default=Status.AVAILABLE)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # See pets.origin. The column has the name that earlier versions know it by.
    created_by = models.CharField(max_length=255, null=True, editable=False, db_column="created_through")

    class Meta:
        # What staff look for, so that each of the admin's lists reads no more of the table than it shows.
        indexes = [
            models.Index(fields=["created_at", "id"], name="pets_pet_created"),
            models.Index(fields=["status", "created_at", "id"], name="pets_pet_status"),
            models.Index(AnyCase("tag"), "created_at", "id", name="pets_pet_tag"),
            models.Index(AnyCase("name"), "id", name="pets_pet_name"),
        ]
        constraints = [
            *(
                models.CheckConstraint(condition=~models.Q((text, "")), name=f"pets_pet_{text}_not_empty")
                for text in ("name", *OPTIONAL_TEXTS)
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=["available", "pending", "sold"]), name="pets_pet_status_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name
