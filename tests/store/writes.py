"""Writes to the table of pets, one for each kind of statement that a writer can send.

Each function takes a number that selects pets, and two statuses.
"""

from collections.abc import Callable

from django.db import connection
from django.utils import timezone

from pets.fields import new_pet_id
from pets.models import Pet

Write = Callable[[int, str, str], object]


def _from(pick: int) -> list[Pet]:
    """Return all pets but the oldest ones."""
    return [*Pet.objects.order_by("pk")[pick:]]


def insert(pick: int, status: str, other: str) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=(status, other)[number % 2]) for number in range(pick))


def insert_by_sql(pick: int, status: str, other: str) -> None:
    _execute(
        "INSERT INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', %s, %s), (%s, 'Tom', %s, %s)",
        *(new_pet_id(), status, timezone.now(), new_pet_id(), other, timezone.now()),
    )


def upsert(pick: int, status: str, other: str) -> None:
    pets = [Pet(id=pet.pk, name="Rex", status=status) for pet in _from(pick)] + [Pet(name="Tom", status=other)]
    Pet.objects.bulk_create(pets, update_conflicts=True, unique_fields=["id"], update_fields=["status"])


def replace(pick: int, status: str, other: str) -> None:
    """Replace a pet, which on SQLite deletes it and by default runs no trigger for the deletion."""
    if connection.vendor == "postgresql":
        return upsert(pick, status, other)
    ids = [pet.pk for pet in _from(pick)[:1]]
    statement = "REPLACE INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', %s, %s)"
    return _execute(statement, *ids or [new_pet_id()], status, timezone.now())


def save_an_old_copy(pick: int, status: str, other: str) -> None:
    """Save a copy of a pet from before its last change, which may have been its sale."""
    for pet in _from(pick)[-1:]:
        pet.status, pet.sold_at, pet.version = status, None, pet.version - 1
        pet.save()


def update_id(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(pk__in=[pet.pk for pet in _from(pick)[:1]]).update(id=new_pet_id(), status=status)


def update_each(pick: int, status: str, other: str) -> None:
    pets = _from(pick)
    for number, pet in enumerate(pets):
        pet.status = (status, other)[number % 2]
    Pet.objects.bulk_update(pets, ["status", "name"])


def update_status(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).update(status=other)


def update_name(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).update(name="Tom")


def update_tag(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).update(tag="cat")


def update_creator(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).update(created_by="command import_pets")


def update_version(pick: int, status: str, other: str) -> None:
    """Change a status and raise the version, which a trigger does for other writers."""
    _execute("UPDATE pets_pet SET status = %s, version = version + 5 WHERE status = %s", other, status)


def delete(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(pk__in=[pet.pk for pet in _from(pick)], status__in=[status, other]).delete()


def _execute(statement: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


WRITES: list[Write] = [
    *(insert, insert_by_sql, upsert, replace, save_an_old_copy, update_id, update_each, update_status),
    *(update_name, update_tag, update_creator, update_version, delete),
]
