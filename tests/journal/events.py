"""Events for tests."""

from typing import Any

from petservice.journal.models import Event, Item


def create_event(*, record_id: str = "", record_name: str = "", **values: Any) -> Event:
    """Create an event, about one record if it has an id."""
    event = Event.objects.create(**values)
    if record_id:
        Item.objects.create(event=event, record_id=record_id, record_name=record_name)
    return event
