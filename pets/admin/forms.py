"""The forms that edit pets without overwriting the changes of other people."""

from typing import Any

from django import forms

from pets.fields import EDITABLE
from pets.models import Pet
from petservice.merging_form import MergingForm


class PetForm(MergingForm):
    """A form of a pet's texts and status that merges the user's changes with those of others.

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


class StatusForm(forms.ModelForm):
    """A form of the status of a row in a list, with the status that the list showed in a hidden field."""

    class Meta:
        model = Pet
        fields = ("status",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["status"].show_hidden_initial = True
        self.fields["status"].widget.attrs["aria-label"] = f"Status of {self.instance}"  # table cells have no labels
