"""A form that edits a record without overwriting the changes of other people."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html


class MergingForm(forms.ModelForm):
    """A form that merges the user's changes with those that others made since the page was opened.

    A hidden field has the value that the page showed. A field that was sent as it was shown keeps its current value.
    Only a field that both the user and someone else changed is a conflict. The caller locks the record.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.data: Any = self.data.copy()  # for what a page with errors shows
        # The names of fields that others changed and the user did not; their current values stay.
        self.kept: list[str] = []
        for field in self.fields.values():
            field.show_hidden_initial = not self.instance._state.adding

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self._refuse_missing_fields()
        fields = [name for name, field in self.fields.items() if field.show_hidden_initial and name in cleaned]
        for name in fields:
            if isinstance(self.fields[name], forms.ModelMultipleChoiceField):
                cleaned[name] = self._merged(name, set(cleaned[name]))
                continue
            current, sent = self._text(name, self.initial[name]), self._text(name, cleaned[name])
            # Programs may omit the hidden field, and then overwrite the current value.
            shown = self.data.get(self[name].html_initial_name, current)
            if is_same(sent, shown) or is_same(sent, current):
                if not is_same(sent, current):
                    self.kept.append(name)
                cleaned[name] = self.initial[name]
                self.data[self[name].html_name] = current
            elif not is_same(current, shown):
                self.add_error(name, _conflict(current, sent))
            self.data[self[name].html_initial_name] = current  # with which the next save is compared
        return cleaned

    def _refuse_missing_fields(self) -> None:
        """Add an error if the user has changed a field for which they have lost the permission in the meantime."""
        missing = {name: text for name, text in self.data.items() if name not in self.fields}
        changed = [name for name, text in missing.items() if not is_same(text, missing.get(f"initial-{name}", text))]
        if changed:
            texts = ", ".join(f"{name.replace('_', ' ')} “{missing[name]}”" for name in changed)
            self.add_error(None, f"Nothing was saved, because you cannot change this here any more: {texts}.")

    def _merged(self, name: str, sent: set[Any]) -> Any:
        """Return the present choices without those that the user has removed, and with those that they have added.

        A program that omits the hidden field adds choices, and removes none.
        """
        shown, current = self.data.getlist(self[name].html_initial_name), set(self.initial[name])
        added = {one for one in sent if str(one.pk) not in shown}
        merged = added | {one for one in current if one in sent or str(one.pk) not in shown}
        # A page with errors shows these. Without a hidden field, it would have the choices sent as those shown before.
        self.data.setlist(self[name].html_name, [one.pk for one in merged])
        self.data.setlist(self[name].html_initial_name, [one.pk for one in current])
        return self.initial[name] if merged == current else [*merged]

    @property
    def changed_data(self) -> list[str]:
        """Return the names of the fields whose values change."""
        return [name for name in self.fields if self.cleaned_data.get(name) != self.initial.get(name)]

    def full_clean(self) -> None:
        super().full_clean()
        if self.errors and self.kept:  # the page now shows their values, so that the next save does not tell
            self.add_error(None, self.kept_changes)

    @property
    def kept_changes(self) -> str:
        """Return a message about the changes by others that this form has kept."""
        changes = " and ".join(f"the {self[name].label.lower()} to {self._quoted(name)}" for name in self.kept)
        return f"While the page was open, someone else changed {changes}. That change was kept."

    def _quoted(self, name: str) -> str:
        text = self._text(name, self.initial[name])
        return f"“{text}”" if text and not isinstance(self.fields[name], forms.ChoiceField) else text or "nothing"

    def _text(self, name: str, value: Any) -> str:
        """Return a value as its field shows it."""
        shown = self.fields[name].prepare_value(value)
        return "" if shown is None else str(shown)


def _conflict(current: str, sent: str) -> ValidationError:
    """Return an error that shows the value of someone else and the value of the user side by side."""
    message = format_html(
        "While this page was open, someone else changed this field too. Nothing was saved. Save again to replace "
        'their value with yours, or enter their value to keep it.<span class="conflict"><span>Their value: <b>{}</b>'
        "</span> <span>Your value: <b>{}</b></span></span>",
        current or "(empty)",
        sent or "(empty)",
    )
    return ValidationError(message, code="conflict")


def is_same(text: str, other: str) -> bool:
    """Compare texts without line breaks, because text inputs remove them."""
    one, another = (value.replace("\r", "").replace("\n", "") for value in (text, other))
    return one == another
