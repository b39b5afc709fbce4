"""Keys at both ends of each period that decides about their state or their use."""

from datetime import datetime, timedelta
from typing import Any

from petservice.apikeys.models import IDLE_AFTER, NEVER_USED_AFTER, SOON, APIKey

DAY, MICROSECOND = timedelta(days=1), timedelta(microseconds=1)
# Fields of a key, with times from now, and the state and the use that the list shows.
KEYS: list[tuple[dict[str, Any], str, str]] = [
    ({"created_at": -NEVER_USED_AFTER}, "active", ""),
    ({"created_at": -NEVER_USED_AFTER - MICROSECOND}, "active", "never"),
    ({"created_at": -NEVER_USED_AFTER - DAY, "expires_at": DAY}, "soon", "never"),
    ({"last_used_at": -IDLE_AFTER}, "active", ""),
    ({"last_used_at": -IDLE_AFTER - MICROSECOND}, "active", "idle"),
    ({"last_used_at": -2 * IDLE_AFTER, "expires_at": SOON}, "soon", "idle"),
    ({"last_used_at": -2 * IDLE_AFTER, "expires_at": DAY * 0}, "expired", ""),
    ({"last_used_at": -2 * IDLE_AFTER, "expires_at": -DAY}, "expired", ""),
    ({"expires_at": MICROSECOND}, "soon", ""),
    ({"expires_at": SOON + MICROSECOND}, "active", ""),
    ({"environment": "live", "expires_at": DAY, "last_used_at": -2 * IDLE_AFTER}, "other", ""),
    ({"environment": "live", "expires_at": -DAY, "created_at": -2 * NEVER_USED_AFTER}, "expired", ""),
    ({"revoked_at": -DAY, "expires_at": -DAY, "last_used_at": -2 * IDLE_AFTER}, "revoked", ""),
]


def create_keys(now: datetime) -> dict[APIKey, tuple[str, str]]:
    """Create these keys and a replaced one, and return them with their states and uses."""
    keys = {}
    for fields, *state_and_use in KEYS:
        values = {name: now + value if isinstance(value, timedelta) else value for name, value in fields.items()}
        key, _ = APIKey.objects.create_key(name="Acme", **values)
        keys[key] = (state_and_use[0], state_and_use[1])
    replaced, _ = APIKey.objects.create_key(name="Replaced", replaced_by=key, expires_at=now + DAY)
    return keys | {replaced: ("replaced", "")}
