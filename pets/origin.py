"""How a pet came to be, as one line of text that outlives whoever it names."""

from typing import NamedTuple


class Origin(NamedTuple):
    """What a member of staff, a command or a client's API key was called then; only a key has a prefix."""

    name: str
    key_prefix: str = ""


def of_key(prefix: str, name: str) -> str:
    """The text for a pet that a client created by the API."""
    return f"key {prefix} {name}"


def of_staff(username: str) -> str:
    """The text for a pet that staff created in the admin."""
    return f"staff {username}"


def of_command(name: str) -> str:
    """The text for a pet that a management command created."""
    return f"command {name}"


def read(text: str | None) -> Origin | None:
    """What one of the functions above has written; None for a pet of which nothing is known."""
    if not text:
        return None
    kind, _, name = text.partition(" ")
    if kind != "key":
        return Origin(name)
    key_prefix, _, name = name.partition(" ")
    return Origin(name, key_prefix)
