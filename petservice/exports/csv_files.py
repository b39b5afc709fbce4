"""The protection of texts in CSV files that a spreadsheet would otherwise run as formulas.

An export adds an apostrophe before such a text, and an import removes it. An apostrophe that the text itself has gets
another one, so that an exported and imported text is unchanged.
"""

import re

# The list of OWASP ("CSV Injection"): the signs, their full-width forms, and white space that spreadsheets skip.
_FORMULA = "[=+\\-@＝＋－＠\t\r\n]"  # noqa: RUF001  # full-width on purpose
_DANGEROUS = re.compile(f"'*{_FORMULA}")
_ESCAPED = re.compile(f"'+{_FORMULA}")


def escape(text: str) -> str:
    """Return the text as it is written to a cell of a CSV file."""
    return f"'{text}" if _DANGEROUS.match(text) else text


def unescape(cell: str) -> str:
    """Return the text from which `escape` made this cell."""
    return cell[1:] if _ESCAPED.match(cell) else cell
