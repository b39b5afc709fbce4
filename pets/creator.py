"""The creator of a pet, stored as one line of text that stays valid when the account or key is deleted."""

from typing import Any, NamedTuple

from django.db.models import CharField, Func, Q, Value
from django.db.models.lookups import Exact, IsNull


class Creator(NamedTuple):
    """The name of a member of staff, a command or an API key when it created a pet; only a key has a prefix."""

    name: str
    key_prefix: str = ""


def of_key(prefix: str, name: str) -> str:
    """Return the text to store for a pet that a client creates through the API."""
    return f"key {prefix} {name}"


def of_staff(username: str) -> str:
    """Return the text to store for a pet that a member of staff creates in the admin."""
    return f"staff {username}"


def of_command(name: str) -> str:
    """Return the text to store for a pet that a management command creates."""
    return f"command {name}"


def parsed(text: str | None) -> Creator | None:
    """Return the creator that a stored text names, or None if the creator is unknown."""
    if not text:
        return None
    kind, _, name = text.partition(" ")
    if kind != "key":
        return Creator(name)
    key_prefix, _, name = name.partition(" ")
    return Creator(name, key_prefix)


class KindOfCreator(Func):
    """The first three letters of a stored text, which tell the kinds of creators apart. An index has them."""

    function = "SUBSTR"
    template = "%(function)s(%(expressions)s, 1, 3)"
    arity = 1
    output_field: Any = CharField()


# The kinds of creators by their name in URLs: the text for pages, and the beginning of the stored text.
KINDS = {
    "api": ("API", "key"),
    "staff": ("Staff", "sta"),
    "import": ("Import command", "com"),
    "unknown": ("Unknown", None),
}


def is_of_kind(kind: str) -> Q:
    """Return the condition that a pet has a creator of this kind, one of KINDS."""
    _, beginning = KINDS[kind]
    field = KindOfCreator("created_by")
    return Q(IsNull(field, True)) if beginning is None else Q(Exact(field, Value(beginning)))
