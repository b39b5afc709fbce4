"""Recording of events in the audit."""

import os
import pwd
from typing import Any

from django.conf import settings
from django.db.models import Model
from django.http import HttpRequest

from petservice.audit.models import AuditEntry
from petservice.client_address import client_address

# The account name of events that a management command caused.
COMMAND = "command"


def record(
    request: HttpRequest | None,
    kind: AuditEntry.Kind,
    *,
    target: Model | type[Model] | None = None,
    message: str = "",
    count: int = 1,
    account: Any = None,
) -> AuditEntry:
    """Add an entry to the audit in the current transaction, and return it.

    `target` is the changed record, or the model of the records that a bulk action changed. `message` says what changed,
    with old and new values, and `count` is the number of records. The account is by default that of the request.
    Commands have no request, so their message ends with the operating system user.
    """
    user = account if account is not None else getattr(request, "user", None)
    if user is not None and not user.is_authenticated:
        user = None
    unnamed = COMMAND if request is None else ""
    one = target if isinstance(target, Model) else None
    return AuditEntry.objects.create(
        kind=kind,
        account=user,
        account_name=user.get_username() if user else unnamed,
        address=None if request is None else address_of(request),
        record_type=type_of(target),
        record_id=str(one.pk) if one is not None else "",
        record_name=str(one)[:255] if one is not None else "",
        count=count,
        message=message if request is not None else with_system_user(message),
    )


def with_system_user(message: str) -> str:
    """Return the message of a command's entry, with the operating system user that ran the command."""
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:  # an account of a container, for example
        name = str(uid)
    return f"{message} Run by the operating system user {name}.".strip()


def type_of(target: Model | type[Model] | None) -> str:
    """Return the name of a model in the audit. An inventory item is a proxy of a pet, so it has the name of pets."""
    if target is None or target._meta.concrete_model is None:
        return ""
    return target._meta.concrete_model._meta.label_lower


def address_of(request: HttpRequest) -> str | None:
    """Return the address of the client as text, or None if it is unknown."""
    meta = request.META
    address = client_address(meta.get("REMOTE_ADDR"), meta.get("HTTP_X_FORWARDED_FOR", ""), settings.TRUSTED_PROXIES)
    return str(address) if address else None
