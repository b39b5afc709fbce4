"""The API keys and the pets that requests of tests name in braces, such as `{write}` and `{pet}`."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from pets.models import Pet
from petservice.apikeys import keys
from petservice.apikeys.models import APIKey

UNKNOWN = ("unknown", "unknown foreign", "mistyped")
KINDS = ("write", "read", "expired", "revoked", "foreign", "limited", "odd name", *UNKNOWN)
PETS = {"pet": "01890a5d-ac96-774b-bcce-b302099a8001", "tagless": "01890a5d-ac96-774b-bcce-b302099a8002"}


def new_keys() -> dict[str, str]:
    """Return a new plain key of each kind."""
    plain = {kind: keys.generate("live" if "foreign" in kind else "test") for kind in KINDS}
    last = plain["write"][-1]
    return plain | {"mistyped": plain["write"][:-1] + ("0" if last != "0" else "1")}


def seed(plain: dict[str, str]) -> dict[str, str]:
    """Create the keys of known kinds and two pets, and return the keys and the ids by the names in requests."""
    now = timezone.now()
    fields: dict[str, dict[str, Any]] = {
        "read": {"access": "read"},
        "expired": {"expires_at": now - timedelta(seconds=1)},
        "revoked": {"revoked_at": now},
        "limited": {"requests_per_minute": 5},
        "odd name": {"name": 'Ä\'{}%s\\ "key" x'},
    }
    for kind, key in plain.items():
        if kind not in UNKNOWN:
            values = {"name": "Acme", "environment": keys.environment_of(key)} | fields.get(kind, {})
            APIKey.objects.create(prefix=keys.prefix(key), digest=keys.digest(key), **values)
    Pet.objects.create(pk=PETS["pet"], name="Rex", tag="dog")
    Pet.objects.create(pk=PETS["tagless"], name="Tom")
    return plain | PETS
