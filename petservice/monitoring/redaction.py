"""Keeps API keys out of messages and logs, wherever clients put them by mistake."""

import logging
import re

# How much of what a client sent a message repeats, in characters.
_ECHO = 100
# What is kept is the display prefix, by which staff find the key's record.
_KEY = re.compile(r"(pets_(?:test|live)_\w{8})\w+", re.ASCII)


def without_keys(text: str) -> str:
    """`text` with whatever looks like an API key cut down to its display prefix."""
    return _KEY.sub(r"\1…", text)


def echo(text: str) -> str:
    """`text` as a message to its sender may repeat it: in quotes, shortened, without keys."""
    shown = repr(without_keys(text[:_ECHO]))
    return f"{shown} and more" if len(text) > _ECHO else shown


class KeylessFormatter(logging.Formatter):
    """Writes log lines, tracebacks included, without API keys."""

    def format(self, record: logging.LogRecord) -> str:
        return without_keys(super().format(record))
