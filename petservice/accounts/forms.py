"""The forms with which administrators add and change staff accounts, and the comparison of account names."""

import unicodedata
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import ValidationError

from petservice.accounts.models import Account, Role
from petservice.accounts.services import OWN_ACCOUNT, lock
from petservice.admin_pages.created_once import FormOnce
from petservice.admin_pages.merging_form import MergingForm
from petservice.db.folding import fold
from petservice.journal.recording import COMMAND
from petservice.journal.sentences import changes_of_form

# Scripts with letters that look like those of another one, as Unicode names them.
_ALIKE = frozenset({"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE"})


def validate_new_name(name: str, *, own_key: Any = None) -> None:
    """Refuse a name that differs from that of another account only in case or in the form of its characters.

    Python compares, because the databases fold other letters. Accounts are few. Older ones may have such names.
    """
    if fold(name) == COMMAND:
        raise ValidationError(f"“{COMMAND}” is what the audit calls the operator's commands. Choose another name.")
    for other in Account.objects.exclude(pk=own_key).values_list("username", flat=True):
        if fold(other) == fold(name):
            raise ValidationError(f"There is already an account with the name “{other}”. Choose another name.")


def warning_about(name: str) -> str:
    """Return a warning about a name with letters of several scripts that look alike, or an empty text."""
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in name if letter.isalpha()} & _ALIKE
    if len(scripts) < 2:
        return ""
    return (
        f"The username “{name}” has letters of several scripts: {', '.join(sorted(map(str.capitalize, scripts)))}. "
        "Some look alike, so check that no one can take this account for another."
    )


class AccountForm(MergingForm):
    """A form of the name and the role of an account."""

    # Set for each request.
    actor: Any

    full_name = forms.CharField(max_length=150, label="Full name", required=False, widget=AdminTextInputWidget)
    role = forms.ChoiceField(widget=forms.RadioSelect)

    class Meta:
        model = Account
        fields = ("username",)
        labels = {"date_joined": "Added"}
        help_texts = {"username": "The name to log in with: letters, digits and @ . + - _ only."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if instance := kwargs.get("instance"):
            kwargs["initial"] = {"full_name": instance.full_name, "role": str(instance.role)}
        super().__init__(*args, **kwargs)
        # The custom role is offered if the account has or had it.
        shown = self.data.get(self["role"].html_initial_name) if self.is_bound else None
        has_custom = Role.CUSTOM in (self.initial.get("role"), shown)
        field: Any = self.fields["role"]
        field.choices = [choice for choice in Role.choices if has_custom or choice[0] != Role.CUSTOM]

    def clean_username(self) -> str:
        """Refuse a name that people would confuse with that of another account, unless it is the present one."""
        name: str = Account.normalize_username(self.cleaned_data["username"])
        if name != self.initial.get("username"):
            lock()  # another administrator may be adding such a name
            validate_new_name(name, own_key=self.instance.pk)
        return name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.instance.pk == self.actor.pk and cleaned.get("role") not in (None, Role.ADMINISTRATOR):
            self.add_error("role", OWN_ACCOUNT)
        return cleaned

    def change_texts(self) -> list[str]:
        """Describe the changes, before they are saved."""
        texts = [changes_of_form(self, "username", "full_name")]
        if "role" in self.changed_data:
            texts.append(f"Role changed from {self.instance.role_text} to {self.cleaned_data['role']}.")
        if not self.instance.is_staff:
            texts.append("Staff status given.")
        return [text for text in texts if text]


class NewAccountForm(FormOnce, AccountForm):
    """A form of a new account."""
