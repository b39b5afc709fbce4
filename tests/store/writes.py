"""All kinds of writes to the table of pets.

Each function takes a number that selects pets, and two statuses.
"""

from collections.abc import Callable

from django.db import connection
from django.utils import timezone

from pets.fields import new_pet_id
from pets.models import Pet

Write = Callable[[int, str, str], object]


def _one(pick: int) -> Pet | None:
    pets = list(Pet.objects.order_by("pk"))
    return pets[pick % len(pets)] if pets else None


def _some(pick: int) -> list[str]:
    return [pk for number, pk in enumerate(Pet.objects.order_by("pk").values_list("pk", flat=True)) if number >= pick]


def create(pick: int, status: str, other: str) -> None:
    Pet.objects.create(name="Rex", status=status)


def bulk_create(pick: int, status: str, other: str) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=(status, other)[number % 2]) for number in range(pick))


def bulk_create_over_existing(pick: int, status: str, other: str) -> None:
    pets = [Pet(id=pk, name="Rex", status=status) for pk in _some(pick)] + [Pet(name="Tom", status=other)]
    Pet.objects.bulk_create(pets, update_conflicts=True, unique_fields=["id"], update_fields=["status"])


def save(pick: int, status: str, other: str) -> None:
    if pet := _one(pick):
        pet.status = status
        pet.save()


def save_under_another_id(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(pk__in=_some(pick)[:1]).update(id=new_pet_id(), status=status)


def bulk_update(pick: int, status: str, other: str) -> None:
    pets = list(Pet.objects.filter(pk__in=_some(pick)))
    for number, pet in enumerate(pets):
        pet.status = (status, other)[number % 2]
    Pet.objects.bulk_update(pets, ["status", "name"])


def queryset_update(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).update(status=other)


def update_of_something_else(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).update(name="Tom")


def instance_delete(pick: int, status: str, other: str) -> None:
    if pet := _one(pick):
        pet.delete()


def queryset_delete(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).delete()


def _execute(statement: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def sql_insert(pick: int, status: str, other: str) -> None:
    _execute(
        "INSERT INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', %s, %s), (%s, 'Tom', %s, %s)",
        *(new_pet_id(), status, timezone.now(), new_pet_id(), other, timezone.now()),
    )


def sql_update(pick: int, status: str, other: str) -> None:
    _execute("UPDATE pets_pet SET status = CASE status WHEN %s THEN %s ELSE %s END", status, other, status)


def sql_delete(pick: int, status: str, other: str) -> None:
    _execute("DELETE FROM pets_pet WHERE status IN (%s, %s)", status, other)


def sql_replace(pick: int, status: str, other: str) -> None:
    pet = _one(pick)
    statement = {
        # REPLACE deletes the conflicting row, and by default runs no trigger for the deletion.
        "sqlite": "REPLACE INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', %s, %s)",
        "postgresql": "INSERT INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', %s, %s) "
        "ON CONFLICT (id) DO UPDATE SET status = EXCLUDED.status",
    }[connection.vendor]
    _execute(statement, pet.pk if pet else new_pet_id(), status, timezone.now())


WRITES: list[Write] = [
    *(create, bulk_create, bulk_create_over_existing, save, save_under_another_id, bulk_update, queryset_update),
    *(update_of_something_else, instance_delete, queryset_delete, sql_insert, sql_update, sql_delete, sql_replace),
]
