"""The fields of the inventory in responses of the API."""

from rest_framework import serializers


class InventorySerializer(serializers.Serializer[dict[str, int]]):
    """The number of pets of each status; always all three."""

    available = serializers.IntegerField(min_value=0, help_text="Pets that can be bought.")
    pending = serializers.IntegerField(min_value=0, help_text="Pets whose sale is under way.")
    sold = serializers.IntegerField(min_value=0, help_text="Pets that have been sold.")
