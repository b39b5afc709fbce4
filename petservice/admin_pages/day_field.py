"""A field of the filters of lists for a day."""

from datetime import date
from typing import Any

from django import forms


class _DayInput(forms.DateInput):
    """An input for a day. It shows no value that browsers would reject."""

    input_type = "date"

    def format_value(self, value: Any) -> str | None:
        text = super().format_value(value)
        try:
            return str(date.fromisoformat(text or ""))
        except ValueError:
            return None


class DayField(forms.DateField):
    """A field for an optional day of the store."""

    widget = _DayInput
    default_error_messages = {"invalid": "Write a day as year-month-day, for example 2026-11-21."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, input_formats=["%Y-%m-%d"], **kwargs)
