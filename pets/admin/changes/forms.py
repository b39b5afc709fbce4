"""The forms that add pets, once for each form, and edit pets without overwriting the changes of other people."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.widgets import AdminTextInputWidget
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils import timezone

from pets.admin.changes.undo_pages import with_undo
from pets.fields import EDITABLE
from pets.files.rows import VISIBLE
from pets.models import Pet, TrashedPet
from pets.models.pet import name_or_count, validate_not_blank
from pets.permissions import may_see_pets, permission_to_change
from pets.undo import add_event_of_change, change_of
from petservice.admin_pages.created_once import FormOnce
from petservice.admin_pages.merging_form import MergingForm, is_same
from petservice.configuration.time_zone import moment
from petservice.journal.models import Event, Item
from petservice.journal.sentences import changes_of_form, quoted

# Maximum number of pets that one form adds: more are the work of an import.
_MAX_ADDED = 100
# The time after which a form that is sent again adds its pets again.
_REMEMBERED = timedelta(days=1)
# A text input for which a script suggests tags in use.
TAG_INPUT = AdminTextInputWidget({"data-suggestions": reverse_lazy("admin:pets_pet_tags")})


class PetForm(MergingForm):
    """A form of a pet's texts and status that merges the user's changes with those of others."""

    class Meta:
        model = Pet
        fields = EDITABLE
        widgets = {"tag": TAG_INPUT}
        labels = {"id": "ID"}
        # Without the word of the model that the field is optional, because its label says so.
        help_texts = {"tag": "A category, for example the kind of animal."}


def save_edit(model_admin: ModelAdmin, request: HttpRequest, pet: Pet, form: PetForm) -> None:
    """Save what the form has changed, record it, and tell the user."""
    if form.changed_data:
        pet.save()
        before = {name: form.initial[name] for name in form.changed_data}
        after = {name: form.cleaned_data[name] for name in form.changed_data}
        summary = f"“{pet}”: {changes_of_form(form)}"
        changes = [change_of(pet, before, after)]
        event = add_event_of_change(request, Event.Kind.CHANGED, summary, changes, permission_to_change(request.user))
        messages.success(request, with_undo(model_admin, request, summary, event))
    else:
        messages.info(request, f"You changed nothing, so “{pet}” is as before.")


class NewPetForm(FormOnce, PetForm):
    """A form of new pets, one for each line of the name. `cleaned_data["name"]` is the first name."""

    name = forms.CharField(
        strip=False,
        widget=forms.Textarea({"rows": 1, "class": "vTextField"}),
        help_text="Several lines add a pet for each name, with the same tag and status.",
    )

    def clean_name(self) -> str:
        field: Any = Pet._meta.get_field("name")
        self.names: list[str] = [*filter(VISIBLE.search, re.split("\r\n|\r|\n", self.cleaned_data["name"]))]
        if not self.names:
            raise ValidationError(validate_not_blank.message)
        if len(self.names) > _MAX_ADDED:
            raise ValidationError(f"Enter at most {_MAX_ADDED} names, or import a file.")
        for name in self.names:
            try:
                field.clean(name, None)
            except ValidationError as error:
                raise ValidationError([f"“{name[:50]}”: {text}" for text in error.messages]) from error
        return self.names[0]


def add_all(model_admin: ModelAdmin, request: HttpRequest, pet: Pet, form: NewPetForm) -> None:
    """Create the pets of a form, of which `pet` is the first one, record all of them together, and tell the user."""
    values = {"tag": pet.tag, "status": pet.status, "created_by": pet.created_by}
    pets = Pet.objects.bulk_create([pet, *(Pet(name=name, **values) for name in form.names[1:])])
    changes = [change_of(one, None, {name: getattr(one, name) for name in EDITABLE}) for one in pets]
    text = f"{name_or_count(pets)} added."
    event = add_event_of_change(request, Event.Kind.ADDED, text, changes, "pets.add_pet")
    messages.success(request, with_undo(model_admin, request, text, event))
    event.form_token = form.cleaned_data["form_token"]
    event.save(update_fields=["form_token"])


def added_by_form(request: HttpRequest, form_token: UUID) -> Pet | None:
    """Return the first pet of those that a form of this person has added and that still exist, if there is any.

    The account stays locked until the current transaction ends, so that a double click waits for the first request.
    """
    account = get_user_model().objects.select_for_update(no_key=True).get(pk=request.user.pk or 0)
    recent = Event.objects.filter(account=account, at__gt=timezone.now() - _REMEMBERED)
    added = recent.filter(kind=Event.Kind.ADDED, form_token=form_token)
    ids = Item.objects.filter(event__in=added).values_list("record_id", flat=True)
    return Pet.objects.filter(pk__in=[*ids]).order_by("pk").first()


def deleted_meanwhile(request: HttpRequest, pet_id: str) -> HttpResponse | None:
    """Return a redirect with a message: who deleted a pet, and what the user typed on its page. None if nobody did.

    It leads to the page that puts the pet back, or to the dashboard if the user may not see that page.
    """
    gone = TrashedPet.objects.filter(record_id=pet_id).order_by("-event__at", "-pk").first()
    if gone is None:
        return None
    event, post = gone.event, request.POST
    text = f"“{gone}” was deleted by {event.account_name}, {moment(event.at)}. It is in the trash."
    typed = [
        f"{name} {quoted(post[name])}"
        for name in EDITABLE
        if name in post and not is_same(post[name], post.get(f"initial-{name}", ""))
    ]
    messages.error(request, f"{text} Nothing was saved of what you typed: {', '.join(typed)}." if typed else text)
    if may_see_pets(request.user):
        return redirect("admin:pets_trashedpet_change", gone.pk)
    return redirect("admin:index")
