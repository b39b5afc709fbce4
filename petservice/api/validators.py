"""The valid formats of strings and ids that clients and staff send."""

import re

# A UUID in lower case with hyphens.
ID_PATTERN = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_ID = re.compile(ID_PATTERN, re.ASCII)


def is_id(text: str) -> bool:
    """Return whether a string has the format of the service's ids: a UUID in lower case with hyphens."""
    return _ID.fullmatch(text) is not None


def is_integer(text: str) -> bool:
    """Return whether a string of a request is an integer that every database accepts, as a primary key or a version."""
    return text.isascii() and text.isdecimal() and len(text) < len(str(2**63))


# Matches a string that is not only white space. Python and JSON Schema differ in a few characters, so a character
# counts as white space if either says so.
NOT_BLANK = re.compile(r"[^\s\ufeff]")
