"""The filters of the audit, each combination of which reads a part of one index."""

from django import forms
from django.utils.text import format_lazy

from petservice.admin_pages.filter_form import DayField, FilterForm
from petservice.configuration.time_zone import in_days, zone_name
from petservice.journal.models import Event, EventQuerySet, Item


class EventFilterForm(FilterForm):
    """A form of the filters."""

    person = forms.CharField(
        required=False, max_length=150, widget=forms.TextInput({"list": "persons", "autocomplete": "off"})
    )
    kind = forms.ChoiceField(required=False, choices=[("", "All"), *Event.Kind.choices])
    record_type = forms.ChoiceField(required=False, label="Record", choices=[("", "All"), *Event.RecordType.choices])
    record_id = forms.CharField(required=False, max_length=255, label="Record ID")
    day_from = DayField(label=format_lazy("From ({})", zone_name()))
    day_to = DayField(label=format_lazy("To ({})", zone_name()))

    def events(self) -> EventQuerySet:
        """Return the events that pass the filters, newest first, or none if a filter is invalid."""
        if not self.is_valid():
            return Event.objects.none()
        value = self.cleaned_data.get
        events = Event.objects.filter(in_days("at", value("day_from"), value("day_to")))
        equal = {"account_name": value("person"), "kind": value("kind"), "record_type": value("record_type")}
        equal = {name: text for name, text in equal.items() if text}
        if not value("record_id"):
            return events.filter(**equal)
        # One record has few events. They are compared here, because SQLite would choose the index of another filter.
        items = Item.objects.filter(record_id=value("record_id"))
        of_record = items.values_list("event_id", *(f"event__{name}" for name in equal))
        return events.filter(pk__in=[pk for pk, *found in of_record if found == [*equal.values()]])
