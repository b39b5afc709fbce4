"""The forms with which staff create, change and rotate API keys."""

from datetime import timedelta
from uuid import uuid4

from django import forms
from django.conf import settings


class KeyForm(forms.ModelForm):
    """A form for an API key, which accepts a new request limit only on a service with Redis."""

    def clean_requests_per_minute(self) -> int | None:
        limit: int | None = self.cleaned_data["requests_per_minute"]
        if limit is not None and "requests_per_minute" in self.changed_data and not settings.REDIS_URL:
            raise forms.ValidationError(
                "Limits are not available on this service. Leave this field empty, or ask your administrator to set up "
                "Redis."
            )
        return limit


class NewKeyForm(KeyForm):
    """A form for a new API key, with a token that lets the form create only one key.

    A double click, a reload or the Back button can send the same form again.
    """

    form_token = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    def validate_unique(self) -> None:
        """Leave uniqueness to the database, because only a constraint stops two requests at the same time."""


class RotateForm(forms.Form):
    """A form for rotating a key, which asks for the grace period of the old key and has a form token."""

    form_token = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    grace_period = forms.TypedChoiceField(
        label="Keep the old key working for",
        coerce=lambda hours: timedelta(hours=int(hours)),
        choices=[
            (0, "Not at all (stop it now)"),
            (1, "1 hour"),
            (24, "1 day"),
            (24 * 7, "1 week"),
            (24 * 30, "30 days"),
        ],
        initial=24,
    )
