"""The valid formats of strings and ids that clients and staff send."""

import re

# A UUID in lower case with hyphens.
ID_PATTERN = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_ID = re.compile(ID_PATTERN, re.ASCII)


def is_id(text: str) -> bool:
    """Return whether a string has the format of the service's ids: a UUID in lower case with hyphens."""
    return _ID.fullmatch(text) is not None


# Matches a string that is not only white space. Python and JSON Schema differ in a few characters, so a character
# counts as white space if either says so.
NOT_BLANK = re.compile(r"[^\s\ufeff]")
