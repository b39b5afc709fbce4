from django.db import models
from django.utils import timezone

from pets.fields import PetIDField
from petservice.apikeys.models import APIKey


class IdempotencyRecord(models.Model):
    """That a client's `Idempotency-Key` has created a pet, and what was answered then.

    The pet may have changed or gone since, so the members of the answer are kept here; they are also what the
    client sent, by which a later request with the same key is compared.
    """

    api_key = models.ForeignKey(APIKey, on_delete=models.CASCADE)
    key = models.CharField(max_length=255)
    pet_id = PetIDField()
    name = models.CharField(max_length=255)
    tag = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["api_key", "key"], name="pets_idempotencyrecord_one_per_client_and_key")
        ]

    def __str__(self) -> str:
        return self.key
