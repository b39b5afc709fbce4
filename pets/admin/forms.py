"""The forms that edit pets without overwriting the changes of other people."""

from typing import Any

from django import forms

from pets.fields import EDITABLE
from pets.models import Pet


class PetForm(forms.ModelForm):
    """A form of a pet's texts and status, whose hidden fields detect the changes of other people.

    Texts keep their white space, because a form that strips it would change a client's text when staff edit another
    field.
    """

    class Meta:
        model = Pet
        fields = EDITABLE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, forms.CharField):
                field.strip = False
            field.show_hidden_initial = not self.instance._state.adding

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in self._fields_with_initial():
            current, shown = self.initial[name], self.data.get(self[name].html_initial_name)
            # Programs may omit the hidden fields, and then overwrite the current value.
            if shown is not None and _as_browsers_send(current) != _as_browsers_send(shown):
                self._add_conflict(name, current)
            elif name in cleaned and cleaned[name] == _in_one_line(current):
                cleaned[name] = current  # a text input removes line breaks
        return cleaned

    @property
    def changed_data(self) -> list[str]:
        """Return the names of the fields whose values change."""
        return [name for name in self.fields if self.cleaned_data.get(name) != self.initial.get(name)]

    def _fields_with_initial(self) -> list[str]:
        return [name for name, field in self.fields.items() if field.show_hidden_initial]

    def _add_conflict(self, name: str, current: Any) -> None:
        """Add an error about a change by someone else, and update the hidden field so that the next save succeeds."""
        value = f"“{current}”" if current else "nothing"
        self.add_error(
            name,
            f"Someone else changed this to {value} while this page was open. Save again to overwrite it, or reload the "
            "page to keep it.",
        )
        data: Any = self.data
        self.data = data.copy()
        self.data[self[name].html_initial_name] = "" if current is None else current  # type: ignore[index]  # the copy is mutable


class StatusForm(forms.ModelForm):
    """A form of the status of a row in a list, with the status that the list showed in a hidden field."""

    class Meta:
        model = Pet
        fields = ("status",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["status"].show_hidden_initial = True
        self.fields["status"].widget.attrs["aria-label"] = f"Status of {self.instance}"  # table cells have no labels


def _as_browsers_send(text: str | None) -> str:
    """Return a text as browsers send it: one kind of line break, and an empty string for None."""
    return (text or "").replace("\r\n", "\n").replace("\r", "\n")


def _in_one_line(text: str | None) -> str | None:
    return text and text.replace("\r", "").replace("\n", "")
