"""The pets and API keys that every server in the comparison has."""

import csv
import hashlib
import io
import random
from collections.abc import Iterator
from typing import NamedTuple

STATUSES = ("available", "pending", "sold")
_NAMES = ("Rex", "Bella", "Milo", "Luna", "Max", "Nala", "Otis", "Ruby", "Tofu", "Zoe")
_TAGS = ("dog", "cat", "bird", "fish", "rabbit", None)
# Number of API keys of the peers: enough that the lookup of a key needs its index.
_KEYS = 100


class Pet(NamedTuple):
    """A row of the pet table."""

    id: str
    name: str
    tag: str | None
    status: str

    def as_json(self) -> dict[str, str]:
        """Return the pet as the API represents it."""
        return {"id": self.id, "name": self.name} | ({} if self.tag is None else {"tag": self.tag})


class Access(NamedTuple):
    """An API key that works, and one that has been revoked."""

    key: str
    revoked_key: str


def make_pets(number: int) -> list[Pet]:
    """Return pets in the order of their ids, the same in each run."""
    choose = random.Random(20240501)
    return [
        Pet(
            # A UUIDv7 of an early day, so that a pet that a server creates comes after these.
            id=f"01890000-{position // 4096:04x}-7{position % 4096:03x}-a000-{choose.getrandbits(48):012x}",
            name=f"{choose.choice(_NAMES)} {position}",
            tag=choose.choice(_TAGS),
            status=choose.choices(STATUSES, (60, 25, 15))[0],
        )
        for position in range(number)
    ]


def as_csv(pets: list[Pet]) -> str:
    """Return the pets as a file for `manage.py import_pets`."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([Pet._fields, *pets])
    return text.getvalue()


def peer_access() -> Access:
    """Return the API keys of the peers' databases."""
    return Access(_key(_KEYS // 2), _key(0))


def key_rows() -> Iterator[tuple[int, str, str | None]]:
    """Yield the rows of the peers' table of API keys."""
    for number in range(_KEYS):
        yield number, hashlib.sha256(_key(number).encode()).hexdigest(), None if number else "2020-01-01 00:00:00"


def _key(number: int) -> str:
    return f"key_{number:04}_{random.Random(number).getrandbits(160):040x}"
