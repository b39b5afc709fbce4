"""The two staff groups that are created after a migration."""

from typing import Any

from django.apps import AppConfig

PETS_AND_INVENTORY = "Pets and inventory"
PETS_INVENTORY_AND_KEYS = "Pets, inventory and API keys"

_PET_PERMISSIONS = [
    "pets.view_pet",
    "pets.add_pet",
    "pets.change_pet",
    "pets.delete_pet",
    "store.view_inventoryitem",
    "store.change_inventoryitem",
]
_KEY_PERMISSIONS = ["apikeys.view_apikey", "apikeys.add_apikey", "apikeys.change_apikey"]
GROUPS = {
    PETS_AND_INVENTORY: _PET_PERMISSIONS,
    PETS_INVENTORY_AND_KEYS: _PET_PERMISSIONS + _KEY_PERMISSIONS,
}


def create_groups(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Create the missing groups after a migration, and leave existing groups unchanged."""
    from django.contrib.auth.models import Group, Permission

    for name, labels in GROUPS.items():
        permissions = [
            permission
            for permission in Permission.objects.using(using)
            .select_related("content_type")
            .filter(content_type__app_label__in=("pets", "store", "apikeys"))
            if f"{permission.content_type.app_label}.{permission.codename}" in labels
        ]
        # The signal is sent for each app, and only the last one finds all permissions.
        if len(permissions) == len(labels):
            group, created = Group.objects.using(using).get_or_create(name=name)
            if created:
                group.permissions.set(permissions)
