"""The removal of API keys from messages and logs, in case clients put a key in the wrong place."""

import logging
import re

# Maximum number of characters of a client's input that a message repeats.
_ECHO = 100
# The display prefix stays, because staff can find the key's record by it.
_KEY = re.compile(r"(pets_(?:test|live)_\w{8})\w+", re.ASCII)


def without_keys(text: str) -> str:
    """Return the text with everything that looks like an API key cut to its display prefix."""
    return _KEY.sub(r"\1…", text)


def echo(text: str) -> str:
    """Return a client's input for a message to that client: in quotes, shortened, without keys."""
    shown = repr(without_keys(text[:_ECHO]))
    return f"{shown} and more" if len(text) > _ECHO else shown


class KeylessFormatter(logging.Formatter):
    """A formatter that writes log lines and tracebacks without API keys."""

    def format(self, record: logging.LogRecord) -> str:
        return without_keys(super().format(record))
