"""The two staff groups that are created after a migration."""

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.models import Group, Permission
from django.db.models.signals import post_migrate
from django.dispatch import receiver

PETS_AND_INVENTORY = "Pets and inventory"
PETS_INVENTORY_AND_KEYS = "Pets, inventory and API keys"

# The code names of permissions, which are different in our apps. An app that was removed leaves its own behind.
_PET_PERMISSIONS = ["view_pet", "add_pet", "change_pet", "delete_pet", "view_inventoryitem", "change_inventoryitem"]
GROUPS = {
    PETS_AND_INVENTORY: _PET_PERMISSIONS,
    PETS_INVENTORY_AND_KEYS: [*_PET_PERMISSIONS, "view_apikey", "add_apikey", "change_apikey"],
}


@receiver(post_migrate)
def create_groups(sender: AppConfig, using: str, **kwargs: Any) -> None:
    """Create the missing groups after a migration, and leave existing groups unchanged."""
    if sender.label != "auth":  # the signal is sent for each app, and for this one after those with the permissions
        return
    for name, codenames in GROUPS.items():
        permissions = Permission.objects.using(using).filter(
            content_type__app_label__in=("pets", "store", "apikeys"), codename__in=codenames
        )
        if len(permissions) == len(codenames):
            group, created = Group.objects.using(using).get_or_create(name=name)
            if created:
                group.permissions.set(permissions)
