"""The creator of a pet, stored as one line of text that stays valid when the account or key is deleted."""

from django.db.models import Func, Q, Value
from django.db.models.lookups import Exact, IsNull


def of_key(prefix: str, name: str) -> str:
    """Return the text to store for a pet that a client creates through the API."""
    return f"key {prefix} {name}"


def of_staff(username: str) -> str:
    """Return the text to store for a pet that a member of staff creates in the admin."""
    return f"staff {username}"


def of_command(name: str) -> str:
    """Return the text to store for a pet that a management command creates."""
    return f"command {name}"


def parsed(text: str | None) -> tuple[str, str]:
    """Return the prefix of the API key that a stored text names, if any, and the creator for pages.

    It is the name of the account or the key at that time. A command is called as in the filter.
    """
    if not text:
        return "", "unknown"
    kind, _, name = text.partition(" ")
    if kind != "key":
        return "", KINDS["import"][0] if kind == "command" else name
    key_prefix, _, name = name.partition(" ")
    return key_prefix, name


class KindOfCreator(Func):
    """The first three letters of a stored text, which tell the kinds of creators apart. An index has them."""

    template = "SUBSTR(%(expressions)s, 1, 3)"


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
