from typing import Any

from rest_framework import serializers

from pets.models import Pet
from petservice.api.fields import TextField


class PetSerializer(serializers.Serializer[Pet]):
    """A pet as the API shows it."""

    id = serializers.UUIDField(help_text="Unique identifier (UUIDv7), assigned by the service.")
    name = serializers.CharField(min_length=1, max_length=255, help_text="Display name of the pet.")
    tag = serializers.CharField(
        min_length=1, max_length=255, required=False, help_text="Category, for example a kind of animal."
    )

    def to_representation(self, instance: Pet) -> dict[str, Any]:
        shown = {"id": instance.id, "name": instance.name}
        if instance.tag is not None:
            shown["tag"] = instance.tag
        return shown


class CreatePetRequestSerializer(serializers.Serializer[Pet]):
    """What a client sends to create a pet; other members are ignored."""

    name = TextField(name="name", help_text="Name of the pet to create; kept exactly as sent.")
    tag = TextField(name="tag", required=False, help_text="Optional category; kept exactly as sent.")
