from django.db import models
from django.utils import timezone

from pets.fields import PetIDField
from petservice.apikeys.models import APIKey


class IdempotencyRecord(models.Model):
    """A record that a client's `Idempotency-Key` created a pet, with the fields of the response.

    The pet may change or be deleted later, so the record has its own copy of the fields. The fields are equal to those
    of the request, so later requests with the same key are compared with them.
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
