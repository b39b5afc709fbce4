"""Events for tests."""

from typing import Any

from petservice.journal.models import Event, Item


def create_event(*, record_id: str = "", record_name: str = "", **values: Any) -> Event:
    """Create an event, about one record if it has an id."""
    event = Event.objects.create(**values)
    if record_id:
        Item.objects.create(event=event, record_id=record_id, record_name=record_name)
    return event


def last_record(kind: Event.Kind) -> tuple[str | None, str | None]:
    """Return the id and the name of the record of the last event of a kind, if it is about one record."""
    events = Event.with_record(Event.objects.filter(kind=kind))
    return events.values_list("record_id", "record_name").latest("pk")
