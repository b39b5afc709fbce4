"""A hook for Schemathesis, which loads this module, for a setting that schemathesis.toml does not have."""

import hashlib
import uuid
from typing import Any

import schemathesis
from schemathesis.core.parameters import ParameterLocation

RUN = uuid.uuid4().hex


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, Any]) -> None:
    """Give each body an `Idempotency-Key` of its own, as clients do.

    Schemathesis sends many different bodies with one key. The service would reject all but the first with 422, so the
    other requests would test nothing.
    """
    if case.meta is None or case.meta.is_negative_at(ParameterLocation.HEADER):
        return  # headers that are wrong on purpose stay as they are
    key = (case.headers or {}).get("Idempotency-Key")
    if key is not None:
        own = hashlib.sha256(f"{RUN} {key} {case.body!r}".encode()).hexdigest()[:32]
        case.headers["Idempotency-Key"] = key[: 255 - len(own)] + own
