from django.db import models
from uuid_utils import uuid7


def new_id():
    return str(uuid7())


class Pet(models.Model):
    class Status(models.TextChoices):
        AVAILABLE = "available"
        PENDING = "pending"
        SOLD = "sold"

    id = models.CharField(primary_key=True, max_length=36, default=new_id, editable=False)
    name = models.CharField(max_length=255)
    tag = models.CharField(max_length=255, null=True, blank=True)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.AVAILABLE)

    class Meta:
        db_table = "pet"

    def __str__(self):
        return self.name


class APIKey(models.Model):
    id = models.IntegerField(primary_key=True)
    digest = models.CharField(max_length=64, unique=True)
    revoked_at = models.DateTimeField(null=True)

    is_authenticated = True  # what REST framework's permission looks for in `request.user`

    class Meta:
        db_table = "api_key"

    def __str__(self):
        return self.digest
