"""The forms with which staff create, change and rotate API keys."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.utils.text import format_lazy

from petservice.admin_pages.created_once import FormOnce
from petservice.apikeys.models import APIKey
from petservice.configuration.time_zone import day_of, end_of, time_on, zone_name

# The lifetimes that the forms offer, by their values there, and the values of the other two choices.
LIFETIMES = {str(days): timedelta(days=days) for days in (30, 90, 365)}
NEVER, OWN_DAY = "never", "own"
_END_OF_DAY = format_lazy("A day without a time means the end of that day ({}).", zone_name())


class ExpiryField(forms.SplitDateTimeField):
    """A field for a day and an optional time, where a day without a time means the end of that day.

    A time that exists twice, because the clocks go back, is the second one. The inputs are the pickers of the browser.
    The script clock.js tells people whose clock has another zone.
    """

    def __init__(self, **kwargs: Any) -> None:
        # The visible label belongs to neither input.
        day = {"type": "date", "aria-label": "Day of expiry"}
        at = {"type": "time", "step": "1", "data-zone": zone_name(), "aria-label": "Time of expiry"}
        kwargs["widget"] = forms.SplitDateTimeWidget(
            date_attrs=day, date_format="%Y-%m-%d", time_attrs=at, time_format="%H:%M:%S"
        )
        super().__init__(**kwargs)

    def compress(self, data_list: Any) -> datetime | None:
        if not data_list or not data_list[0]:
            none: datetime | None = super().compress(data_list)  # rejects a time without a day
            return none
        day, at = data_list
        try:
            expires_at = time_on(day, at) if at else end_of(day) - timedelta(seconds=1)
        except OverflowError:  # on the first or last day of the calendar
            raise forms.ValidationError("No key can expire on this day. Choose another day.") from None
        if expires_at is None:
            raise forms.ValidationError("This time does not exist, because the clocks change. Choose another time.")
        return expires_at


class KeyForm(forms.ModelForm):
    """A form for an API key, which rejects an impossible expiry, and a new request limit without Redis."""

    class Meta:
        help_texts = {"expires_at": format_lazy("Leave empty for no expiry. {}", _END_OF_DAY)}

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
        expires_at: datetime | None = self.instance.expires_at
        if "expires_at" not in self.changed_data:
            # The form shows no microseconds, and not which of two equal times it is when the clocks go back.
            return expires_at
        expires_at, now = self.cleaned_data["expires_at"], timezone.now()
        if self.instance.is_expired(now):
            raise forms.ValidationError(
                "This key has expired. Its expiry cannot be changed any more. Use “Create a replacement” instead."
            )
        if expires_at is not None and expires_at <= now:
            raise forms.ValidationError(
                "This time is in the past. Choose a later time. To stop the key immediately, use Revoke."
            )
        if expires_at is None and self.instance.replaced_by_id is not None:
            raise forms.ValidationError("This key was replaced by another key, so it must expire. Choose a time.")
        return expires_at

    def clean_requests_per_minute(self) -> int | None:
        limit: int | None = self.cleaned_data["requests_per_minute"]
        if limit is not None and "requests_per_minute" in self.changed_data and not settings.REDIS_URL:
            raise forms.ValidationError(
                "Limits are not available on this service. Leave this field empty, or ask your administrator to set up "
                "Redis."
            )
        return limit


class ExpiryChoice(forms.Form):
    """A part of the form of a new key or a replacement, with usual lifetimes next to a day of one's own."""

    lifetime = forms.ChoiceField(label="Expires", initial="90")

    def offer_lifetimes(self, now: datetime, old_lifetime: timedelta | None = None) -> None:
        """Fill in the choices. The lifetime of an old key is the first one, if there is an old key that expires."""
        self.now = now
        self._lifetimes = LIFETIMES if old_lifetime is None else {"same": old_lifetime} | LIFETIMES
        choices = []
        for value, lifetime in self._lifetimes.items():
            days, hours = round(lifetime / timedelta(days=1)), round(lifetime / timedelta(hours=1))
            length = f"{days} days" if days > 1 else f"{hours} hour{pluralize(hours)}"
            like = ", like the old key" if value == "same" else ""
            choices.append((value, f"After {length}{like} (on {day_of(now + lifetime)})"))
        field: Any = self.fields["lifetime"]
        field.choices = [*choices, (NEVER, "Never"), (OWN_DAY, "On the day below")]

    def clean_expires_at(self) -> datetime | None:
        expires_at: datetime | None = self.cleaned_data["expires_at"]
        if expires_at is not None and expires_at <= self.now:
            raise forms.ValidationError("This time is in the past, so the key would not work. Choose a later time.")
        return expires_at

    def clean(self) -> dict[str, Any]:
        """Put the chosen time into `expires_at`, which holds the day of one's own until then."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        choice, own_day = cleaned.get("lifetime"), cleaned.get("expires_at")
        if choice == OWN_DAY:
            if own_day is None and "expires_at" not in self.errors:
                self.add_error("expires_at", "Choose the day on which the key expires.")
        elif choice is not None and own_day is not None:
            self.add_error(
                "lifetime", "You also entered a day. Choose “On the day below” to use it, or leave the day empty."
            )
        elif choice is not None:
            cleaned["expires_at"] = None if choice == NEVER else self.now + self._lifetimes[choice]
        return cleaned


class NewKeyForm(FormOnce, ExpiryChoice, KeyForm):
    """A form for a new API key."""

    class Meta:
        labels = {"expires_at": "Day of expiry"}
        help_texts = {
            "expires_at": format_lazy("Only for “On the day below”. {}", _END_OF_DAY),
            "access": "Choose “Read and write” only if the client adds pets.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer_lifetimes(timezone.now())

    def validate_unique(self) -> None:
        """Leave uniqueness to the database, because only a constraint stops two requests at the same time."""


class RotateForm(FormOnce, ExpiryChoice):
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
    expires_at = ExpiryField(
        required=False,
        label="Day of expiry",
        help_text=format_lazy("Only for “On the day below”. {}", _END_OF_DAY),
    )

    def __init__(self, api_key: APIKey, now: datetime, data: Any = None) -> None:
        super().__init__(data)
        self.offer_lifetimes(now, api_key.lifetime)
        self.fields["lifetime"].initial = NEVER if api_key.lifetime is None else "same"
        if not api_key.works(now):
            del self.fields["grace_period"]
