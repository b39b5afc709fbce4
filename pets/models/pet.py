"""Pets, the records of the requests that created them, and the filters of their lists."""

from collections.abc import Sequence

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from pets.creator import KindOfCreator
from pets.fields import OPTIONAL_TEXTS, PetIDField, SoldAtField, new_pet_id
from pets.search.case_insensitive import CaseInsensitive
from petservice.api.validators import NOT_BLANK
from petservice.apikeys.models import APIKey

validate_not_blank = RegexValidator(NOT_BLANK, "Enter at least one character that is not white space.", code="blank")


class Pet(models.Model):
    """A pet. The API shows its id and its texts (pets.fields), and only counts its status."""

    class Status(models.TextChoices):
        # The API shows a count of each status (store.views), so a new status changes the API's contract. It needs
        # a migration of `pets` and a migration of `store`.
        AVAILABLE = "available"
        PENDING = "pending"
        SOLD = "sold"

    id = PetIDField(primary_key=True, default=new_pet_id, editable=False)
    name = models.CharField(max_length=255, validators=[validate_not_blank])
    tag = models.CharField(
        max_length=255,
        null=True,  # the API omits the field of a pet without a tag; an empty tag does not exist
        blank=True,
        validators=[validate_not_blank],
        help_text="A category, for example the kind of animal. Optional.",
    )
    status = models.CharField(max_length=9, choices=Status, default=Status.AVAILABLE)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # See pets.creator. The column keeps its first name, because earlier versions use it during an upgrade.
    created_by = models.CharField(max_length=255, null=True, editable=False, db_column="created_through")
    # The database raises it at every change (pets/migrations/0014_version.py).
    version = models.IntegerField(default=1, db_default=1, editable=False)
    # The database sets it when the status becomes sold, and clears it when the pet comes back
    # (pets/migrations/0016_sold_at.py). Pets that were sold before it existed may have none.
    sold_at = SoldAtField(null=True, editable=False)

    class Meta:
        # For the searches and filters of staff: each list of the admin reads only the pets that it shows.
        indexes = [
            models.Index(fields=["created_at"], name="pets_pet_by_creation"),
            models.Index(fields=["status", "created_at"], name="pets_pet_by_status"),
            # On PostgreSQL, unknown times come first as well (pets/migrations/0023_shorter_indexes.py).
            models.Index(fields=["status", "sold_at", "created_at"], name="pets_pet_by_sale"),
            models.Index(CaseInsensitive("tag"), "created_at", name="pets_pet_by_tag"),
            models.Index(CaseInsensitive("name"), name="pets_pet_by_name"),
            models.Index(KindOfCreator("created_by"), "created_at", name="pets_pet_by_creator"),
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


def count_of_pets(number: int) -> str:
    """Return a number of pets in words."""
    return "1 pet" if number == 1 else f"{number:,} pets"


def name_or_count(pets: Sequence["Pet"]) -> str:
    """Return the name of a single pet for a sentence, or the number of several ones."""
    return f"“{pets[0]}”" if len(pets) == 1 else count_of_pets(len(pets))


class IdempotencyRecord(models.Model):
    """A record that a client's `Idempotency-Key` created a pet, with the fields of the response.

    The pet may change or be deleted later, so the record has its own copy of the fields. The fields are equal to those
    of the request, so later requests with the same key are compared with them.
    """

    # Without an index of its own, because that of the constraint begins with it.
    api_key = models.ForeignKey(APIKey, on_delete=models.CASCADE, db_index=False)
    key = models.CharField(max_length=255)
    pet_id = PetIDField()
    name = models.CharField(max_length=255)
    tag = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["api_key", "key"], name="pets_idempotencyrecord_one_per_client_and_key")
        ]


class SavedFilter(models.Model):
    """A search, filters and an order of the lists of pets, which a member of staff has saved under a name."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000)  # the query string of the list, with a fixed order of its parameters
    is_shared = models.BooleanField(default=False, db_default=False)  # whether all staff see it

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="pets_savedfilter_one_per_owner_and_name")
        ]

    def __str__(self) -> str:
        return self.name
