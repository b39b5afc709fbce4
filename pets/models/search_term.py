from django.db import models

from pets.fields import PetIDField


class SearchTerm(models.Model):
    """A term by which searches find a pet (pets.search_terms). The table is an index that pets.search_index fills.

    Terms are bytes, because bytes have the same order in every database and locale. There is no foreign key, because
    the terms of a deleted pet are removed later; a search ignores them.
    """

    pk = models.CompositePrimaryKey("term", "pet_id")
    term = models.BinaryField()
    pet_id = PetIDField()

    class Meta:
        default_permissions = ()
        managed = False  # a migration creates the table, on SQLite without a second copy of the rows


class UnindexedPet(models.Model):
    """A pet whose terms are not up to date. A trigger of the table of pets writes this row (pets.search_triggers).

    It has the texts before the change, whose terms are removed. They are null for a new pet.
    """

    pet_id = PetIDField()
    old_name = models.CharField(max_length=255, null=True)
    old_tag = models.CharField(max_length=255, null=True)

    class Meta:
        default_permissions = ()
        managed = False  # as the table of terms, which it belongs to
