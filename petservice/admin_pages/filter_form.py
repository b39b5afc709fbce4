"""The form of the filters of a list, and its field for a day."""

from typing import Any

from django import forms


class DayField(forms.DateField):
    """A field for an optional day of the store."""

    widget = forms.DateInput({"type": "date"})
    default_error_messages = {"invalid": "Write a day as year-month-day, for example 2026-11-21."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, input_formats=["%Y-%m-%d"], **kwargs)


class FilterForm(forms.Form):
    """A form of filters, of which empty ones do not filter. Two days have names that end with `_from` and `_to`."""

    def clean(self) -> None:
        for name in self.fields:
            first, last = map(self.cleaned_data.get, (name, name.replace("_from", "_to")))
            if first and last and first > last:
                self.add_error(name, "“From” is after “To”. Exchange the two days.")

    def in_words(self) -> str:
        """Return the valid filters in words, with a word about invalid ones, or an empty string if there are none."""
        self.full_clean()
        texts = ["An invalid filter, which nothing fits"] if self.errors else []
        for name, value in self.cleaned_data.items():
            if value:
                choices = dict(getattr(self.fields[name], "choices", ()))
                text = "" if value is True else f" “{choices.get(value, value)}”"
                texts.append(f"{self[name].label}{text}")
        return ", ".join(texts)
