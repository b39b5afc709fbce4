"""CSV files that spreadsheets open: their mark, their parts, and the protection of texts that would run as formulas.

An export adds an apostrophe before such a text, and an import removes it. An apostrophe that the text itself has gets
another one, so that an exported and imported text is unchanged.
"""

import csv
import io
import re
from collections.abc import Generator, Iterable, Sequence
from typing import Any

# Spreadsheets recognize UTF-8 by this mark at the beginning.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Number of characters that are written together, because few large writes take less time than many small ones.
_PART_LENGTH = 1 << 16
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


def parts(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Generator[bytes]:
    """Yield the parts of a file with a header row."""
    part = io.StringIO(newline="")
    writer = csv.writer(part)
    writer.writerow(header)
    for row in rows:
        writer.writerow(row)
        if part.tell() > _PART_LENGTH:
            yield part.getvalue().encode()
            part.seek(0)
            part.truncate()
    yield part.getvalue().encode()
