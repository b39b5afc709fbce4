"""Recording of events in the audit."""

from typing import Any

from django.conf import settings
from django.db.models import Model
from django.http import HttpRequest

from petservice.audit.models import AuditEntry
from petservice.client_address import client_address


def record(
    request: HttpRequest | None,
    kind: AuditEntry.Kind,
    *,
    target: Model | None = None,
    message: str = "",
    count: int = 1,
    account: Any = None,
) -> AuditEntry:
    """Add an entry to the audit in the current transaction, and return it.

    `target` is the changed record, `message` says what changed, with old and new values, and `count` is the number of
    records that a bulk action changed. The account is by default that of the request. Commands have no request.
    """
    user = account if account is not None else getattr(request, "user", None)
    if user is not None and not user.is_authenticated:
        user = None
    return AuditEntry.objects.create(
        kind=kind,
        account=user,
        account_name=user.get_username() if user else "",
        address=None if request is None else _address(request),
        record_type=target._meta.label_lower if target is not None else "",
        record_id=str(target.pk) if target is not None else "",
        record_name=str(target)[:255] if target is not None else "",
        count=count,
        message=message,
    )


def _address(request: HttpRequest) -> str | None:
    meta = request.META
    address = client_address(meta.get("REMOTE_ADDR"), meta.get("HTTP_X_FORWARDED_FOR", ""), settings.TRUSTED_PROXIES)
    return str(address) if address else None
