"""The full-text index of names and tags. The tests of the counters look at it after each kind of write."""

import pytest
from django.db import connection
from django.db.models import Q

from pets.models import Pet
from pets.search.words import search
from pets.services import create_pet

pytestmark = pytest.mark.django_db

# The values of filters that the index has on SQLite. PostgreSQL combines its indexes.
FILTERS = {status: Q(status=status) for status in Pet.Status.values} | {
    "untagged": Q(tag=None),
    "sta": Q(created_by="staff ada"),
    "com": Q(created_by="command import_pets"),
}


def assert_found() -> None:
    """Check that the search for each word finds the pets that have it, with each filter and without."""
    for word in ("rex", "tom", "dog", "cat"):
        pets = Pet.objects.filter(Q(name__iexact=word) | Q(tag=word))
        assert {*search(Pet.objects.all(), word)} == {*pets}, word
        for value, condition in FILTERS.items() if connection.vendor == "sqlite" else ():
            assert {*search(Pet.objects.all(), word, filters=[value])} == {*pets.filter(condition)}, (word, value)


@pytest.mark.parametrize(
    "name", ["ﷺ" * 255, "﷽" * 255, "ß" * 255, "'" * 255, '\\ & | ! :* ( ) <-> " AND NOT', "ΐ" * 255]
)
def test_any_name_can_be_written_and_found(name: str) -> None:
    pet = create_pet(name=name, tag=name)

    if any(map(str.isalpha, name)):
        assert [*search(Pet.objects.all(), name)] == [pet]
    assert not search(Pet.objects.all(), "zebra").exists()
