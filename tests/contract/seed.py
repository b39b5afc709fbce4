"""Create the API keys and the pets that the rows of the contract refer to."""

from datetime import timedelta

from django.utils import timezone

from pets.models import Pet
from petservice.apikeys import keys
from petservice.apikeys.models import APIKey


def seed() -> dict[str, str]:
    """Create a key of every kind and two pets, and return the plain keys and the ids by the names in the rows."""
    now = timezone.now()
    write = _key()
    return {
        "write": write,
        "read": _key(access="read"),
        "expired": _key(expires_at=now - timedelta(seconds=1)),
        "revoked": _key(revoked_at=now),
        "foreign": _key(environment="live"),
        "unknown": keys.generate("test"),
        "mistyped": write[:-1] + ("0" if write[-1] != "0" else "1"),
        "pet": Pet.objects.create(name="Rex", tag="dog").id,
        "tagless": Pet.objects.create(name="Tom").id,
    }


def _key(**fields: object) -> str:
    return APIKey.objects.create_key(name="Contract", **fields)[1]
