"""The second factor of an account: time-based codes (RFC 6238) of an authenticator app, and recovery codes."""

import hashlib
import secrets
from base64 import b32encode
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from petservice.journal.models import Event
from petservice.journal.recording import add_event

RECOVERY_CODES = 10
# 80 random bits, so that the stored digest of a recovery code cannot be reversed by trying.
_RECOVERY_BYTES = 10
_CODE_LENGTH = 6
WRONG_CODE = (
    "This code is wrong, it was used before, or it came too soon after many wrong ones. Enter a new code, or one of "
    "your recovery codes. If it was not you who entered wrong ones, change your password."
)


def devices() -> QuerySet[TOTPDevice]:
    """Return the devices that are second factors of accounts.

    The page of an earlier version made one before its first code, which no app may have.
    """
    return TOTPDevice.objects.filter(confirmed=True)  # type: ignore[no-any-return]  # django-otp has no types


def is_set_up(user: Any) -> bool:
    """Return whether an account has a second factor."""
    return bool(devices().filter(user=user.pk).exists())


def is_required(user: Any) -> bool:
    """Return whether the service requires a second factor of an account."""
    if settings.SECOND_FACTOR == "keys":  # also of administrators, who alone change accounts and have all permissions
        return bool(user.has_perm("apikeys.add_apikey") or user.has_perm("apikeys.change_apikey"))
    return bool(settings.SECOND_FACTOR == "all")


def set_up(request: HttpRequest, key: str, code: str) -> tuple[TOTPDevice, list[str]] | None:
    """Give the account of a request a second factor with this key, and return its device and new recovery codes.

    Returns None and changes nothing if the code is wrong or if the account has a factor already.
    """
    with transaction.atomic():
        user = _locked_account(request)
        device = TOTPDevice(user=user, name="Authenticator app", key=key)
        if is_set_up(user) or not device.verify_token(_plain(code)):
            transaction.set_rollback(True)  # django-otp saves a failure, and with it the device
            return None
        codes = _new_recovery_codes(user)
        add_event(request, Event.Kind.SECOND_FACTOR, target=user, message="Second factor set up.")
        return device, codes


def renew_recovery_codes(request: HttpRequest) -> list[str]:
    """Replace the recovery codes of the account of a request, and return the new ones."""
    with transaction.atomic():
        user = _locked_account(request)
        codes = _new_recovery_codes(user)
        add_event(request, Event.Kind.SECOND_FACTOR, target=user, message="Recovery codes renewed.")
        return codes


def _locked_account(request: HttpRequest) -> Any:
    """Return the account of a request, locked, so that nothing is set up twice at the same time."""
    user: Any = request.user
    return get_user_model().objects.select_for_update().get(pk=user.pk)


def _new_recovery_codes(user: Any) -> list[str]:
    # The device is kept, because sessions refer to it that have begun with one of its codes. Only the first one counts,
    # which django-otp's command addstatictoken may have made.
    device = StaticDevice.objects.filter(user=user).first()
    device = device or StaticDevice.objects.create(user=user, name="Recovery codes")
    codes = [b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode().lower() for _ in range(RECOVERY_CODES)]
    StaticToken.objects.filter(device__user=user).delete()
    StaticToken.objects.bulk_create([StaticToken(device=device, token=_digest(code)) for code in codes])
    return ["-".join(code[start : start + 4] for start in range(0, len(code), 4)) for code in codes]


def recovery_codes_left(user: Any) -> int:
    """Return the number of unused recovery codes of an account."""
    return int(StaticToken.objects.filter(device__user=user).count())


def accepting_device(request: HttpRequest, user: Any, entered: str) -> Any:
    """Return the device whose code or recovery code was entered, or None if the text is neither.

    Each code is accepted once.
    """
    code = _plain(entered)
    is_recovery_code = len(code) != _CODE_LENGTH
    model = StaticDevice if is_recovery_code else TOTPDevice
    with transaction.atomic():
        # Locked, so that a code that is sent twice at the same time is accepted once.
        device = model.objects.devices_for_user(user, confirmed=True).select_for_update().first()
        if device is None or not device.verify_token(_digest(code) if is_recovery_code else code):
            return None
        if is_recovery_code:
            message = f"Recovery code used; {recovery_codes_left(user)} left."
            add_event(request, Event.Kind.SECOND_FACTOR, target=user, message=message, account=user)
    return device


def remove(request: HttpRequest, user: Any, *, message: str) -> None:
    """Remove the second factor of an account with its recovery codes."""
    with transaction.atomic():
        deleted, _ = TOTPDevice.objects.devices_for_user(user).delete()
        StaticDevice.objects.devices_for_user(user).delete()
        if deleted:
            add_event(request, Event.Kind.SECOND_FACTOR, target=user, message=message)


def _plain(entered: str) -> str:
    """Return a code without the blanks and hyphens that people read or write between its parts."""
    return "".join(entered.split()).replace("-", "").lower()


def _digest(code: str) -> str:
    """Return what is stored of a recovery code, in the 16 characters for which the library has room."""
    return b32encode(hashlib.sha256(code.encode()).digest()).decode().lower()[:16]
