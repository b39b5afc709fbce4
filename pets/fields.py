"""The names of a pet's fields, and the model field for its id."""

from typing import Any

import uuid_utils
from django.core.exceptions import ValidationError
from django.db import models

from petservice.api.validators import is_id

# The optional texts of a pet, which the API, the admin and files both show and accept. Models, serializers and rows of
# files declare each text themselves. tests/pets/test_fields.py finds missing ones.
OPTIONAL_TEXTS = ("tag",)
# The fields that the API shows, and the fields that staff and imports can change.
SHOWN = ("id", "name", *OPTIONAL_TEXTS)
EDITABLE = ("name", *OPTIONAL_TEXTS, "status")


def new_pet_id() -> str:
    """Return a new UUIDv7 (RFC 9562) as text. It begins with the time, so ids sort by age."""
    return str(uuid_utils.uuid7())


class PetIDField(models.CharField):
    """A UUID that is a string in Python, in the API and on SQLite, and a native `uuid` on PostgreSQL."""

    def db_type(self, connection: Any) -> str:
        # petservice.db.postgresql reads a `uuid` as text.
        return "uuid" if connection.features.has_native_uuid_field else "char(36)"

    def to_python(self, value: Any) -> str | None:
        # PostgreSQL rejects other text with an error, but a lookup of such text must find nothing.
        if value is not None and not (isinstance(value, str) and is_id(value)):
            raise ValidationError(f"{value!r} is not the id of a pet.", code="invalid")
        return value


class SoldAtField(models.DateTimeField):
    """The time of a sale, which the database writes. A save of a pet leaves it as it is, because it may be newer."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        return super().pre_save(model_instance, add) if add else models.F(self.attname)
