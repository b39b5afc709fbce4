"""The forms with which staff create, change and rotate API keys."""

from datetime import date, datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.validators import MaxValueValidator
from django.utils import timezone
from django.utils.text import format_lazy

from petservice.admin_pages.created_once import FormOnce
from petservice.admin_pages.filter_form import DayField
from petservice.admin_pages.merging_form import MergingForm
from petservice.apikeys.models import APIKey
from petservice.configuration.time_zone import day_of, end_of, moment, zone_name

# The value of the choice in place of a lifetime.
NEVER = "never"
# The last day of the calendar has no end.
_LAST_DAY = date.max - timedelta(days=1)


def _last_second(day: date) -> datetime:
    return end_of(day) - timedelta(seconds=1)


class ExpiryField(DayField):
    """A field for the last day of a key, which means the end of that day in the store.

    The script clock.js tells people whose clock has another zone.
    """

    def __init__(self, *, help_text: str, **kwargs: Any) -> None:
        end = format_lazy("{} A key expires at the end of its day ({}).", help_text, zone_name())
        super().__init__(help_text=end, validators=[MaxValueValidator(_LAST_DAY)], **kwargs)
        self.widget.attrs["data-zone"] = zone_name()

    def prepare_value(self, value: Any) -> Any:
        return timezone.localdate(value) if isinstance(value, datetime) else value

    def clean(self, value: Any) -> datetime | None:
        day = super().clean(value)
        expires_at = None if day is None else _last_second(day)
        if expires_at is not None and expires_at <= timezone.now():
            raise forms.ValidationError("This day is in the past. Choose a later day. To stop a key now, use Revoke.")
        return expires_at


class KeyForm(MergingForm):
    """A form for an API key, whose expiry is missing if the key has expired."""

    expires_at = ExpiryField(label="Expiry", help_text="Leave empty for no expiry.")

    class Meta:
        labels = {"expires_at": "Expiry", "replaces": "Replaces"}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.instance.replaced_by_id is not None and "expires_at" in cleaned and cleaned["expires_at"] is None:
            self.add_error("expires_at", "This key was replaced by another key, so it must expire. Choose a day.")
        return cleaned


class ExpiryChoice(forms.Form):
    """A part of the form of a new key or a replacement: a usual lifetime, or a day in its place."""

    lifetime = forms.ChoiceField(label="Expires", initial="90")
    expires_at = ExpiryField(label="Day of expiry", help_text="In place of the choice above.")
    fields: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = timezone.now()
        self.expiries = {str(days): self.now + timedelta(days=days) for days in (30, 90, 365)}
        choices = [(days, f"After {days} days (on {day_of(at)})") for days, at in self.expiries.items()]
        self.fields["lifetime"].choices = [*choices, (NEVER, "Never")]

    def clean(self) -> dict[str, Any]:
        """Turn the chosen lifetime into `expires_at`, unless that has a day."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        usual = self.expiries.get(cleaned.pop("lifetime", NEVER))
        cleaned["expires_at"] = cleaned.get("expires_at") or usual
        return cleaned


class NewKeyForm(FormOnce, ExpiryChoice, forms.ModelForm):
    """A form for a new API key, which begins with the least right."""

    field_order = ("name", "access", "lifetime", "expires_at")

    class Meta:
        model = APIKey
        fields = ("name", "access", "requests_per_minute")
        help_texts = {"access": "Choose “Read and write” only if the client adds pets."}
        widgets = {"name": AdminTextInputWidget({"autofocus": True})}

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, initial={"access": APIKey.Access.READ_ONLY})
        if not settings.REDIS_URL:
            del self.fields["requests_per_minute"]


class RotateForm(ExpiryChoice):
    """A form for rotating a key, which asks for the expiry of the new key and the grace period of the old key."""

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
    field_order = ("lifetime", "expires_at", "grace_period")
    lifetime = forms.ChoiceField(label="The new key expires")

    def __init__(self, api_key: APIKey, data: Any = None) -> None:
        super().__init__(data)
        lifetimes = self.fields["lifetime"]
        lifetimes.initial = NEVER
        if api_key.expires_at is not None:
            # From now, its lifetime may end after the last day that a key can expire on.
            lifetime = min(api_key.expires_at - api_key.created_at, _last_second(_LAST_DAY) - self.now)
            self.expiries["same"] = same = self.now + lifetime
            text = f"As long as the old key (until {moment(same)})"
            lifetimes.choices, lifetimes.initial = [("same", text), *lifetimes.choices], "same"
        if not api_key.works(self.now):
            del self.fields["grace_period"]
