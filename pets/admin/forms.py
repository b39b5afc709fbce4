"""How staff edit a pet without overwriting what someone else has just written."""

from typing import Any

from django import forms

from pets.fields import EDITABLE
from pets.models import Pet


class PetForm(forms.ModelForm):
    """A pet's texts and its status; each field also sends what it showed, and is compared with what is there now.

    Texts are taken as they are: a form that trims would change what a client sent when staff edit something
    else.
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
        for name in self._shown_before():
            current, shown = self.initial[name], self.data.get(self[name].html_initial_name)
            # A program that sends no more than it wants to have makes no claim of what was there before.
            if shown is not None and _as_browsers_send(current) != _as_browsers_send(shown):
                self._refuse_once(name, current)
            elif name in cleaned and cleaned[name] == _in_one_line(current):
                cleaned[name] = current  # an input has no line breaks to show, and so cannot send them
        return cleaned

    @property
    def changed_data(self) -> list[str]:
        """The fields that are to get another value."""
        return [name for name in self.fields if self.cleaned_data.get(name) != self.initial.get(name)]

    def _shown_before(self) -> list[str]:
        return [name for name, field in self.fields.items() if field.show_hidden_initial]

    def _refuse_once(self, name: str, current: Any) -> None:
        """Tell of a change by someone else, which the form shows from now on: sent again, it knows what it does."""
        value = f"“{current}”" if current else "nothing"
        self.add_error(
            name,
            f"While this page was open, someone else changed this to {value}. Save again to overwrite that, or open "
            "the page again to keep it.",
        )
        data: Any = self.data
        self.data = data.copy()
        self.data[self[name].html_initial_name] = "" if current is None else current  # type: ignore[index]  # a copy


class StatusForm(forms.ModelForm):
    """The status of a row in a list, and what it was when the list was shown."""

    class Meta:
        model = Pet
        fields = ("status",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["status"].show_hidden_initial = True
        self.fields["status"].widget.attrs["aria-label"] = f"Status of {self.instance}"  # a cell has no label


def _as_browsers_send(text: str | None) -> str:
    """Forms send each kind of line break as the same; no text and an empty one look alike in them."""
    return (text or "").replace("\r\n", "\n").replace("\r", "\n")


def _in_one_line(text: str | None) -> str | None:
    return text and text.replace("\r", "").replace("\n", "")
