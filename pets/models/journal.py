"""The events and items of the journal as staff see them: deleted pets, and changes that can be undone."""

from typing import Any, ClassVar

from django.db.models import Manager, QuerySet
from django.utils import timezone

from pets.models.pet import Pet
from petservice.journal.models import Event, Item

# The fields whose values a pet has in the trash.
_FIELDS = [field for field in Pet._meta.concrete_fields if not field.primary_key]


def values_of(pet: Pet) -> dict[str, Any]:
    """Return all values of a pet but its id, as the journal keeps them."""
    return {field.attname: getattr(pet, field.attname) for field in _FIELDS}


class _InTrash(Manager["TrashedPet"]):
    def get_queryset(self) -> QuerySet["TrashedPet"]:
        """Return the pets that can be put back now, with the events of their deletions."""
        return super().get_queryset().filter(in_trash_until__gt=timezone.now()).select_related("event")


class TrashedPet(Item):
    """A pet that staff deleted, with all its values, which can be put back for 30 days.

    It is an item of the journal, so that no query of the API and no trigger of the inventory needs a condition.
    An import may create a pet with the id of a deleted one. When it is deleted too, both are in the trash.
    """

    objects: ClassVar[_InTrash] = _InTrash()

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = "deleted pet"
        verbose_name_plural = "trash"

    @property
    def pet(self) -> Pet:
        """Return the pet as it was, which is not in the database."""
        # A newer version, which already runs during an upgrade, may have more fields.
        before = self.before or {}
        values = {one.attname: one.to_python(before[one.attname]) for one in _FIELDS if one.attname in before}
        return Pet(pk=self.record_id, **values)


class RecentChange(Event):
    """A change of the last hour, which staff undo or have undone."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = "recent change"
