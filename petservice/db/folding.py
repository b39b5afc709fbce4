"""The comparison of texts without regard to case, in every script, which databases do each in another way."""

from unicodedata import normalize


def fold(text: str) -> str:
    """Return a text in a form that is equal for all cases and Unicode forms of its characters: STRASSE is straße."""
    return normalize("NFKC", normalize("NFKC", text).casefold())
