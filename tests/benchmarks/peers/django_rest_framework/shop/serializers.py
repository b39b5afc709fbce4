from rest_framework import serializers

from shop.models import Pet


class PetSerializer(serializers.ModelSerializer):
    class Meta:
        model = Pet
        fields = ["id", "name", "tag"]

    def to_representation(self, instance):
        data = super().to_representation(instance)
        if data["tag"] is None:
            del data["tag"]
        return data
