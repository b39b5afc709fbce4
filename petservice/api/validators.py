"""The forms of text and of ids that clients and staff may send."""

import re

# A UUID in lower case with hyphens.
ID_PATTERN = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

_ID = re.compile(ID_PATTERN, re.ASCII)


def is_id(text: str) -> bool:
    """Return whether a text has the form of the service's ids: a UUID in lower case with hyphens."""
    return _ID.fullmatch(text) is not None


# Found in any text that is not only white space. Python and JSON Schema's patterns differ over a few characters: what
# either calls white space is white space here.
NOT_BLANK = re.compile(r"[^\s\ufeff]")
