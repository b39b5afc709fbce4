"""Who may see and change what of pets in the admin, where some accounts have permissions for the inventory alone."""

from typing import Any

EDIT = "pets.change_pet"
_CHANGE_STATUS = "store.change_inventoryitem"


def may_see_pets(user: Any) -> bool:
    """Return whether an account may see all about pets, and also export, print and find them in the trash."""
    return bool(user.has_perm("pets.view_pet") or user.has_perm(EDIT))


def may_see_inventory(user: Any) -> bool:
    """Return whether an account may see the numbers of pets by status."""
    return bool(user.has_perm("store.view_inventoryitem") or user.has_perm(_CHANGE_STATUS))


def may_see_list(user: Any) -> bool:
    """Return whether an account may see the list of pets."""
    return may_see_pets(user) or may_see_inventory(user)


def may_import(user: Any) -> bool:
    """Return whether an account may import files, which add pets and change others."""
    return bool(user.has_perms(["pets.add_pet", EDIT]))


def permission_to_change(user: Any) -> str:
    """Return the permission by which an account changes statuses. Undoing such a change needs the same one."""
    return EDIT if user.has_perm(EDIT) else _CHANGE_STATUS
