"""The forms with which staff create, change and rotate API keys."""

from datetime import datetime, time, timedelta
from typing import Any
from uuid import uuid4

from django import forms
from django.conf import settings
from django.template.defaultfilters import pluralize
from django.utils import timezone

from petservice.apikeys.models import APIKey


class ExpiryField(forms.SplitDateTimeField):
    """A field for a day and an optional time, where a day without a time means the end of that day."""

    def compress(self, data_list: Any) -> datetime | None:
        if data_list and data_list[0] and not data_list[1]:
            data_list = [data_list[0], time(23, 59, 59)]
        expires_at: datetime | None = super().compress(data_list)
        return expires_at


class KeyForm(forms.ModelForm):
    """A form for an API key, which rejects an impossible expiry, and a new request limit without Redis."""

    class Meta:
        help_texts = {"expires_at": "Leave empty for no expiry. A day without a time means the end of that day (UTC)."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.REDIS_URL and (field := self.fields.get("requests_per_minute")):
            if self.instance.requests_per_minute is None:
                # Only the input is disabled, so that a value from elsewhere is rejected and not ignored.
                field.widget.attrs["disabled"] = True
                field.help_text = "Limits are not available on this service."
            else:
                field.help_text = "This limit is not enforced, because limits are not available on this service."

    def clean_expires_at(self) -> datetime | None:
        expires_at: datetime | None = self.cleaned_data["expires_at"]
        if "expires_at" in self.changed_data and (error := self._expiry_error(expires_at, timezone.now())):
            raise forms.ValidationError(error)
        return expires_at

    def _expiry_error(self, expires_at: datetime | None, now: datetime) -> str | None:
        is_past = expires_at is not None and expires_at <= now
        if self.instance.pk is None:
            past = (
                "This time is in the past, so the key would not work. Choose a later time, or leave the fields empty."
            )
            return past if is_past else None
        if self.instance.is_expired(now):
            return "This key has expired. Its expiry cannot be changed any more. Create a new key instead."
        if is_past:
            return "This time is in the past. Choose a later time. To stop the key immediately, use Revoke."
        if expires_at is None and self.instance.replaced_by_id is not None:
            return "This key was replaced by another key, so it must expire. Choose a time."
        return None

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


def _length(lifetime: timedelta) -> str:
    days, hours = round(lifetime / timedelta(days=1)), round(lifetime / timedelta(hours=1))
    return f"{days} days" if days > 1 else f"{hours} hour{pluralize(hours)}"


class RotateForm(forms.Form):
    """A form for rotating a key, which asks for the expiry of the new key and the grace period of the old key."""

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
    lifetime = forms.TypedChoiceField(label="The new key expires", required=False, empty_value=None)

    def __init__(self, api_key: APIKey, now: datetime, data: Any = None) -> None:
        super().__init__(data)
        lifetimes = {str(days): timedelta(days=days) for days in (30, 90, 365)}
        labels = {value: f"After {_length(lifetime)}" for value, lifetime in lifetimes.items()}
        field: Any = self.fields["lifetime"]
        if api_key.lifetime is not None:
            field.initial = "same"
            lifetimes["same"] = api_key.lifetime
            expires_at = now + api_key.lifetime
            same = f"After {_length(api_key.lifetime)}, like the old key ({expires_at:%Y-%m-%d %H:%M} UTC)"
            labels = {"same": same} | labels
        field.choices = [*labels.items(), ("", "Never")]
        field.coerce = lifetimes.__getitem__
