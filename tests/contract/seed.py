"""What the rows speak of: a key of every kind and two pets, in the database that is in use."""

from datetime import timedelta

from django.utils import timezone

from pets.models import Pet
from petservice.apikeys import keys
from petservice.apikeys.models import APIKey


def seed() -> dict[str, str]:
    """Make them; the plain keys and the pets' ids by the names that the rows give them."""
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
