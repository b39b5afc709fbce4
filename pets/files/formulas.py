"""Text in the cells of a CSV file, which a spreadsheet would run as a formula if it begins like one.

An apostrophe before it makes it text. Taken away on the way back, so that a file that is exported and imported again
has every text as it was; an apostrophe that was there before gets another one for that.
"""

import re

# As OWASP has it ("CSV Injection"): the signs, their full-width forms, and the white space that spreadsheets skip.
_FORMULA = "[=+\\-@＝＋－＠\t\r\n]"  # noqa: RUF001  # full-width on purpose
_DANGEROUS = re.compile(f"'*{_FORMULA}")
_ESCAPED = re.compile(f"'+{_FORMULA}")


def escape(text: str) -> str:
    """`text` as the cell of a CSV file has it."""
    return f"'{text}" if _DANGEROUS.match(text) else text


def unescape(cell: str) -> str:
    """The text of which `escape` has made `cell`."""
    return cell[1:] if _ESCAPED.match(cell) else cell
