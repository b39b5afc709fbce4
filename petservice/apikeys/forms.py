"""The forms with which staff create, change and rotate API keys."""

from datetime import timedelta
from uuid import uuid4

from django import forms
from django.conf import settings


class KeyForm(forms.ModelForm):
    """A key; its limit can be set where it can be counted."""

    def clean_requests_per_minute(self) -> int | None:
        limit: int | None = self.cleaned_data["requests_per_minute"]
        if limit is not None and "requests_per_minute" in self.changed_data and not settings.REDIS_URL:
            raise forms.ValidationError(
                "Limits are not available on this service. Leave this field empty, or ask your administrator to set up "
                "Redis."
            )
        return limit


class NewKeyForm(KeyForm):
    """A new key. However often the form is sent (a double click, a reload, the way back), it makes one."""

    submission = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    def validate_unique(self) -> None:
        """Left to the database: only it can tell when two are sent at once."""


class RotateForm(forms.Form):
    """How long the key lives on beside its successor; sent twice, it makes one."""

    submission = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    overlap = forms.TypedChoiceField(
        label="The old key works for another",
        coerce=lambda hours: timedelta(hours=int(hours)),
        choices=[(0, "no time: it ends now"), (1, "hour"), (24, "day"), (24 * 7, "week"), (24 * 30, "30 days")],
        initial=24,
    )
