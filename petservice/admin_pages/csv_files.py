"""CSV files that spreadsheets open: their parts, and the protection of texts that would run as formulas.

An export adds an apostrophe before a formula, and an import removes it. An apostrophe that the text itself has gets
another one, so that an exported and imported text is unchanged.
"""

import csv
import re
from collections.abc import Generator, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

# The list of OWASP ("CSV Injection"): the signs, their full-width forms, and white space that spreadsheets skip.
_SIGN = "=+\\-@＝＋－＠"  # noqa: RUF001  # full-width on purpose
_DANGEROUS = re.compile(f"'*[{_SIGN}\t\r\n]")
_ESCAPED = re.compile(f"'+[{_SIGN}\t\r\n]")
# A spreadsheet splits cells at the separator of its language, so a formula may begin within a text, also in quotes.
_SEPARATOR = re.compile("[;,\t\r\n]")
_ESCAPED_SEPARATOR = re.compile(f"({_SEPARATOR.pattern})'")
# A run of separators and quotes before a sign. It begins after another character, so that each run is read once.
_RUN = "[;,\t\r\n\"']"
_BEFORE_SIGN = re.compile(f"{_RUN}(?<!{_RUN}{{2}}){_RUN}*(?=[{_SIGN}])")


def escape(text: str) -> str:
    """Return the text as it is written to a cell of a CSV file."""
    text = _BEFORE_SIGN.sub(lambda found: _SEPARATOR.sub(r"\g<0>'", found[0]), text)
    return f"'{text}" if _DANGEROUS.match(text) else text


def unescape(cell: str) -> str:
    """Return the text from which `escape` made this cell."""
    cell = _BEFORE_SIGN.sub(lambda found: _ESCAPED_SEPARATOR.sub(r"\1", found[0]), cell)
    return cell[1:] if _ESCAPED.match(cell) else cell


def parts(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Generator[bytes]:
    """Yield the rows of a file, the header first."""
    # The method of a csv.writer returns what that of its file returns.
    write: Any = csv.writer(SimpleNamespace(write=str.encode)).writerow
    yield write(header)
    yield from map(write, rows)
