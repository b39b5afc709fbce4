"""The comparison of texts without regard to case, in every script, which databases do each in another way."""

import re
from unicodedata import normalize


def fold(text: str) -> str:
    """Return a text in a form that is equal for all cases and Unicode forms of its characters: STRASSE is straße."""
    return normalize("NFKC", normalize("NFKC", text).casefold())


def without_accents(text: str) -> str:
    """Return a folded text without the accents of its Latin letters, as a search compares texts: Éclair is eclair."""
    return normalize("NFC", re.sub(r"([a-z])[\u0300-\u036f]+", r"\1", normalize("NFD", fold(text))))
