"""Each optional text of a pet (pets.fields) is present in all models, serializers, files and pages."""

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from pets.fields import EDITABLE, OPTIONAL_TEXTS, SHOWN
from pets.models import IdempotencyRecord, Pet
from pets.schema import REX
from pets.serializers import CreatePetRequestSerializer, PetSerializer
from tests.backoffice.pages import submit
from tests.backoffice.staff import granted
from tests.pets.admin.import_export.import_pages import JSON, confirm, exported, upload
from tests.pets.changes import delete
from tests.service import ROOT

TEXTS = {field: f"a {field}" for field in ("name", *OPTIONAL_TEXTS)}


def columns(model: type[Any]) -> set[str]:
    return {field.name for field in model._meta.concrete_fields}


@pytest.mark.once
@pytest.mark.parametrize(
    ("place", "fields", "expected"),
    [
        ("pets.models.Pet", columns(Pet), {*SHOWN, *EDITABLE, "created_at", "created_by", "version", "sold_at"}),
        (
            "pets.models.IdempotencyRecord",
            columns(IdempotencyRecord) - {"id", "api_key", "key", "created_at"},
            {"pet_id", *TEXTS},
        ),
        ("pets.serializers.PetSerializer", PetSerializer().fields, SHOWN),
        ("pets.serializers.CreatePetRequestSerializer", CreatePetRequestSerializer().fields, TEXTS),
        ("the example pets.schema.REX", REX, SHOWN),
    ],
)
def test_each_place_has_all_fields(place: str, fields: Any, expected: Any) -> None:
    assert sorted(set(expected) - set(fields)) == [], f"{place} lacks fields"
    assert sorted(set(fields) - set(expected)) == [], f"{place} has fields that pets.fields does not name"


@pytest.mark.once
def test_no_text_lists_the_texts_of_a_pet() -> None:
    """A list would be incomplete after a text was added, and no other test would see it."""
    introduction = ROOT / "petservice/guides/templates/guides/introduction.md"
    texts = [*ROOT.glob("pets/**/*.html"), ROOT / "pets/schema.py", introduction]

    listing = re.compile(r"\bnames?,? (and|or)( a| the)? (tags?|status)\b|\bname, tag and")
    assert [str(path) for path in texts if listing.search(" ".join(path.read_text().split()))] == []


@pytest.mark.parametrize("field", OPTIONAL_TEXTS)
def test_the_api_stores_and_compares_an_optional_text(api: Client, field: str) -> None:
    def create(body: dict[str, str]) -> Any:
        return api.post("/v1/pets", body, content_type="application/json", headers={"Idempotency-Key": "key"})

    created = create(TEXTS)

    assert create(TEXTS).json() == created.json() == {"id": created.json()["id"]} | TEXTS
    assert api.get(created["Location"]).json() == api.get("/v1/pets").json()[0] == created.json()
    rejected = create({name: text for name, text in TEXTS.items() if name != field})
    assert rejected.status_code == 422
    assert field in rejected.json()["error"]["message"]


@pytest.mark.parametrize("field", OPTIONAL_TEXTS)
def test_staff_edit_an_optional_text_and_an_account_for_the_inventory_and_the_trash_show_it(
    admin_client: Client, admin_user: User, field: str
) -> None:
    pet = Pet.objects.create(**TEXTS)

    submit(admin_client, reverse("admin:pets_pet_change", args=[pet.pk]), "pet_form", {field: "another"})
    page = granted("change_inventoryitem").get(reverse("admin:pets_pet_change", args=[pet.pk]))

    assert getattr(Pet.objects.get(), field) == "another"
    assert list(page.context["adminform"].form.fields) == ["status"]
    assert f"field-{field}" in page.content.decode()
    item = delete(admin_user, Pet.objects.get()).items.get()
    for url in (reverse("admin:pets_trashedpet_changelist"), reverse("admin:pets_trashedpet_change", args=[item.pk])):
        assert "another" in admin_client.get(url).content.decode()


@pytest.mark.parametrize("field", OPTIONAL_TEXTS)
def test_an_optional_text_is_exported_and_kept_by_an_import_without_its_column(
    admin_client: Client, field: str
) -> None:
    pet = Pet.objects.create(**TEXTS)
    (row,) = json.loads(exported(admin_client, JSON).content)
    others = {name: value for name, value in row.items() if name != field}

    confirm(admin_client, upload(admin_client, json.dumps([others | {"name": "Max"}]), "pets.json"))

    assert row[field] == TEXTS[field]
    assert Pet.objects.values("name", field).get() == {"name": "Max", field: TEXTS[field]}
    confirm(admin_client, upload(admin_client, f"id,name,{field}\n{pet.pk},Max,\n"))
    assert getattr(Pet.objects.get(), field) is None
