from django.apps import AppConfig
from django.db import connection
from django.db.models.signals import post_migrate


class PetsConfig(AppConfig):
    name = "pets"

    def ready(self) -> None:
        post_migrate.connect(_index_recorded_pets, sender=self, dispatch_uid="pets.index_recorded_pets")


def _index_recorded_pets(**options: object) -> None:
    """Index the pets that a migration has recorded for the search."""
    from pets import search_index
    from pets.models import UnindexedPet

    if UnindexedPet._meta.db_table in connection.introspection.table_names():
        search_index.index_all()
