"""The migration that takes the times of past sales from the journal."""

from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps

from pets.models import Pet
from petservice.journal.models import Event, Item

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SOLD, AVAILABLE = {"status": "sold"}, {"status": "available"}
BY_WORDS = "Status changed from pending to sold."
ALL = {"name": "Rex", "tag": None, "status": "sold"}
# What the journal has of a pet, one event a day: its kind, the values before and after, the words; and the day of the
# sale, counted from 0, or None if it is unknown.
HISTORIES: dict[str, tuple[list[tuple[str, Any, Any, str]], int | None]] = {
    "no event": ([], None),
    "sold": ([("sold", AVAILABLE, SOLD, "")], 0),
    "sold, then renamed": ([("sold", AVAILABLE, SOLD, ""), ("changed", {"name": "A"}, {"name": "B"}, "")], 0),
    "sold, by the words of earlier versions": ([("changed", None, None, BY_WORDS)], 0),
    "back and sold again": (
        [("sold", *one, "") for one in ((AVAILABLE, SOLD), (SOLD, AVAILABLE), (AVAILABLE, SOLD))],
        2,
    ),
    "back, and sold by another program": ([("sold", AVAILABLE, SOLD, ""), ("status", SOLD, AVAILABLE, "")], None),
    "added as sold": ([("added", None, ALL, "")], 0),
    "sold, deleted and put back": (
        [("sold", AVAILABLE, SOLD, ""), ("deleted", ALL, None, ""), ("restored", None, ALL, "")],
        0,
    ),
    "deleted and put back": ([("deleted", ALL, None, ""), ("undone", None, ALL, "")], None),
    "a name like a sale": ([("changed", {"name": "A"}, {"name": "B"}, "")], None),
}


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_a_sold_pet_gets_the_time_that_the_journal_has_or_none(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    migration = import_module("pets.migrations.0017_past_sales")
    monkeypatch.setattr(migration, "BATCH", batch)
    for name, (events, _) in HISTORIES.items():
        pet = Pet.objects.create(name=name, status="sold")
        for day, (kind, before, after, words) in enumerate(events):
            event = Event.objects.create(at=NOW + timedelta(day), kind=kind, record_type="pets.pet", message=words)
            Item.objects.create(event=event, record_id=pet.pk, record_name=name, before=before, after=after)
    # An event of many pets sells no pet by its words.
    many = Pet.objects.create(name="one of many", status="sold")
    event = Event.objects.create(kind="changed", record_type="pets.pet", message=BY_WORDS, count=2)
    Item.objects.create(event=event, record_id=many.pk, record_name="A", before={"name": "A"}, after={"name": "B"})
    Pet.objects.create(name="known", status="sold")
    Pet.objects.exclude(name="known").update(sold_at=None)
    Pet.objects.create(name="available")
    (known,) = Pet.objects.filter(name="known").values_list("sold_at", flat=True)

    migration.fill(apps, None)

    days = {name: None if day is None else NOW + timedelta(day) for name, (_, day) in HISTORIES.items()}
    assert dict(Pet.objects.values_list("name", "sold_at")) == days | {
        "known": known,
        "available": None,
        "one of many": None,
    }
