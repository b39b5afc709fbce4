"""A field of the filters of lists for a day."""

from typing import Any

from django import forms


class DayField(forms.DateField):
    """A field for an optional day of the store."""

    widget = forms.DateInput({"type": "date"})
    default_error_messages = {"invalid": "Write a day as year-month-day, for example 2026-11-21."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, input_formats=["%Y-%m-%d"], **kwargs)
