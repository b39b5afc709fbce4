"""The removal of secrets from messages and logs: API keys in the wrong place, and links that set a password."""

import re

# Maximum number of characters of a client's input that a message repeats.
_ECHO = 100
# The display prefix stays, because staff can find the key by it.
_KEY = re.compile(r"(pets_(?:test|live)_\w{8})\w+", re.ASCII)
# Django's token of a link that sets a password: a time and a signature.
_LINK = re.compile(r"\b([0-9a-z]{6,7}-)[0-9a-f]{32}\b", re.ASCII)


def without_keys(text: str) -> str:
    """Return the text with everything that looks like an API key cut to its display prefix, and without link tokens."""
    return _LINK.sub(r"\1…", _KEY.sub(r"\1…", text))


def echo(text: str) -> str:
    """Return a client's input for a message to that client: in quotes, shortened, without keys."""
    shown = repr(without_keys(text[:_ECHO]))
    return f"{shown} and more" if len(text) > _ECHO else shown
