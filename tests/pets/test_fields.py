"""Each optional text of a pet (pets.fields) is present in all models, serializers, files and pages."""

import re
from typing import Any

import pytest

from pets.admin.trash_pages import TrashAdmin
from pets.fields import EDITABLE, OPTIONAL_TEXTS, SHOWN
from pets.models import IdempotencyRecord, Pet
from pets.schema import REX
from pets.serializers import CreatePetRequestSerializer, PetSerializer
from tests.service import ROOT

pytestmark = pytest.mark.once

TEXTS = {"name", *OPTIONAL_TEXTS}


def columns(model: type[Any]) -> set[str]:
    return {field.name for field in model._meta.concrete_fields}


@pytest.mark.parametrize(
    ("place", "fields", "expected"),
    [
        ("pets.models.Pet", columns(Pet), {*SHOWN, *EDITABLE, "created_at", "created_by", "version", "sold_at"}),
        (
            "pets.models.IdempotencyRecord",
            columns(IdempotencyRecord) - {"id", "api_key", "key", "created_at"},
            {"pet_id"} | TEXTS,
        ),
        ("pets.serializers.PetSerializer", PetSerializer().fields, SHOWN),
        ("pets.serializers.CreatePetRequestSerializer", CreatePetRequestSerializer().fields, TEXTS),
        ("the example pets.schema.REX", REX, SHOWN),
        ("the list of the trash", {*TrashAdmin.list_display} & TEXTS, OPTIONAL_TEXTS),
        ("the page of a deleted pet", {*TrashAdmin.fields} & TEXTS, OPTIONAL_TEXTS),
    ],
)
def test_each_place_has_all_fields(place: str, fields: Any, expected: Any) -> None:
    assert sorted(set(expected) - set(fields)) == [], f"{place} lacks fields"
    assert sorted(set(fields) - set(expected)) == [], f"{place} has fields that pets.fields does not name"


def test_no_text_lists_the_texts_of_a_pet() -> None:
    """A list would be incomplete after a text was added, and no other test would see it."""
    introduction = ROOT / "petservice/guides/templates/guides/introduction.md"
    texts = [*ROOT.glob("pets/**/*.html"), ROOT / "pets/schema.py", introduction]

    listing = re.compile(r"\bnames?,? (and|or)( a| the)? (tags?|status)\b|\bname, tag and")
    assert [str(path) for path in texts if listing.search(" ".join(path.read_text().split()))] == []
