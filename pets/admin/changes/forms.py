"""The forms that edit pets without overwriting the changes of other people."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.widgets import AdminTextInputWidget
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets.admin.changes.bulk_changes import permission
from pets.admin.undoable import Change, Kind, record_change, with_undo
from pets.fields import EDITABLE
from pets.models import Pet
from petservice.admin_pages.merging_form import MergingForm


class TagInput(AdminTextInputWidget):
    """A text input for which a script suggests tags in use."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        options = f"suggestions-{name}"
        suggested = {"list": options, "data-suggestions": reverse("admin:pets_pet_tags"), "autocomplete": "off"}
        field = super().render(name, value, {**(attrs or {}), **suggested}, renderer)
        return format_html('{}<datalist id="{}"></datalist>', field, options)


class PetForm(MergingForm):
    """A form of a pet's texts and status that merges the user's changes with those of others."""

    class Meta:
        model = Pet
        fields = EDITABLE
        widgets = {"tag": TagInput}
        labels = {"id": "ID"}


def record_edit(pages: ModelAdmin, request: HttpRequest, pet: Pet, form: PetForm) -> None:
    """Record what the form has changed, and tell the user."""
    if form.changed_data:
        before, after = (
            {name: values[name] for name in form.changed_data} for values in (form.initial, form.cleaned_data)
        )
        edit = Change(Pet(pk=pet.pk, name=pet.name, sold_at=pet.sold_at), before, after)
        summary = f"“{pet}”: {edit.sentences}"
        event = record_change(request, Kind.CHANGED, summary, [edit], permission(pages, "change"))
        messages.success(request, with_undo(pages, request, summary, event))
    else:
        messages.info(request, f"You changed nothing, so {pet} is as before.")
    if form.kept:
        messages.warning(request, form.kept_changes)


class StatusForm(forms.ModelForm):
    """A form of the status of a row in a list, with the status that the list showed in a hidden field."""

    class Meta:
        model = Pet
        fields = ("status",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["status"].show_hidden_initial = True
        self.fields["status"].widget.attrs["aria-label"] = f"Status of {self.instance}"  # table cells have no labels
