"""The fields of a pet in requests and responses of the API."""

from typing import Any

from rest_framework import serializers

from pets.queries import ShownPet
from petservice.api.serializers import IDField, RequestSerializer, TextField


class PetSerializer(serializers.Serializer[ShownPet]):
    """A pet as the API shows it."""

    id = IDField(help_text="Unique identifier, assigned by the service.")
    name = TextField(help_text="Display name of the pet.")
    tag = TextField(required=False, help_text="Category, for example a kind of animal. Absent if the pet has none.")

    def to_representation(self, instance: ShownPet) -> dict[str, Any]:
        pet_id, name, tag = instance
        if tag is None:
            return {"id": pet_id, "name": name}
        return {"id": pet_id, "name": name, "tag": tag}


class CreatePetRequestSerializer(RequestSerializer):
    """A pet to create; unknown fields are ignored."""

    name = TextField(help_text="Name of the pet to create; kept exactly as sent.")
    tag = TextField(required=False, help_text="Optional category, for example a kind of animal; kept exactly as sent.")
