"""The columns of a table: the line that names them, their meaning, and the values of pets in the rows."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unicodedata import normalize

from django.conf import settings

from pets.files.rows import COLUMNS, EXPORTED, VISIBLE, BrokenFileError, Rows, Values, unknown_columns, word_of
from petservice.monitoring.redaction import echo

# Maximum number of lines within which the header is, so that titles may stand above it.
HEADER_WITHIN = 20
# The ways to write a day, by the names that pages and options have for them. A time may follow.
DATES = {
    "year-month-day": "%Y-%m-%d",
    "year/month/day": "%Y/%m/%d",
    "day.month.year": "%d.%m.%Y",
    "day/month/year": "%d/%m/%Y",
    "month/day/year": "%m/%d/%Y",
    "day-month-year": "%d-%m-%Y",
    "yy-mm-dd": "%Y-%m-%d",
}
# Days whose year has two digits, as LibreOffice writes them unless someone has chosen another format. In some languages
# the year is first, with a hyphen or a slash: 24-11-02 is in 2024 or in 2002.
_SHORT_YEAR_FIRST = re.compile(r"^([0-6]\d)([/-])(\d\d?)\2(\d\d?)(?!\d)")
_SHORT_YEAR_LAST = re.compile(r"^(\d\d?([./-])\d\d?\2)([0-6]\d)(?!\d)")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def _plain(text: str) -> str:
    """Return the letters and digits of a text without accents, because programs write `Pet name` and `pet_name`."""
    return "".join(character for character in normalize("NFKD", text.casefold()) if character.isalnum())


def _by_word(words: dict[str, list[str]]) -> dict[str, str]:
    return {_plain(word): meaning for meaning, known in words.items() for word in known}


# The words of other programs, in English, German, French, Spanish and Portuguese, from which answers are proposed.
# Breeds have no word, because a breed is no species.
_WORDS = json.loads(Path(__file__).with_name("known_words.json").read_text(encoding="utf-8"))
_COLUMN_OF, _STATUS_OF = _by_word(_WORDS["columns"]), _by_word(_WORDS["statuses"])


def known_column(name: str) -> str:
    """Return the column that a name in a file probably stands for, or an empty text."""
    return own if (own := word_of(name)) in EXPORTED else _COLUMN_OF.get(_plain(name), "")


def known_status(word: str) -> str:
    """Return the status that a word probably stands for, or an empty text."""
    return _STATUS_OF.get(_plain(word), "")


def known_columns(cells: Sequence[str]) -> int:
    """Return how many columns the cells of a line probably name."""
    return len({known_column(cell) for cell in cells} - {""})


def likely_header(lines: Sequence[Sequence[str]]) -> int:
    """Return the position of the line that probably names the columns.

    It is the first one with the most known names. Where none has one, it is the first one with the most cells.
    """

    def rank(position: int) -> tuple[int, int]:
        known = known_columns(lines[position])
        return known, 0 if known else sum(bool(word_of(cell)) for cell in lines[position])

    return max(range(len(lines)), key=rank, default=0)


@dataclass(frozen=True)
class ColumnMapping:
    """The answers of people about a file. Without `columns` and `names`, the columns must be those of pets.

    The database has earlier ones, so fields are only added.
    """

    # The column of a pet for each column of the file, empty for one that is left out; or by the file's own names.
    columns: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    statuses: Mapping[str, str] = field(default_factory=dict)  # by what word_of() returns
    dates: str = ""  # a key of DATES
    skip_unnamed: bool = False
    is_headerless: bool = False  # each line is a pet, because none names the columns
    sheet: str = ""
    encoding: str = ""
    header: str = ""  # the digest of the header

    @classmethod
    def stored(cls, answers: Mapping[str, Any] | None) -> "ColumnMapping":
        """Return the answers that the database has. A newer version may store more during an upgrade."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in (answers or {}).items() if name in known})

    def columns_for(self, header: Sequence[str], number: int) -> Sequence[str]:
        """Return the columns of a pet for the columns of the file. Raises BrokenFileError if there are no such ones."""
        if self.columns:
            return self.columns
        names = {word_of(name): column for name, column in self.names.items()}
        found = [word_of(name) for name in header]
        if missing := [name for name in self.names if found.count(word_of(name)) != 1]:
            raise BrokenFileError(number, f"there is no column {echo(missing[0])}, or more than one.")
        columns = [names.get(name, "") for name in found] if names else found
        named = [column for column in columns if column]
        if not set(named) <= {*EXPORTED}:
            problem = f"not {unknown_columns(header)}. --columns says what others mean."
        elif "name" not in named or len(set(named)) < len(named):
            problem = "each once, and name always."
        else:
            return columns
        own = f"columns, separated by commas, semicolons or tabs, out of {', '.join(COLUMNS)}"
        raise BrokenFileError(number, f"this line must name the {own}; {problem}")


OWN = ColumnMapping()


def values(rows: Rows, mapping: ColumnMapping) -> Values:
    """Yield the values of the rows, or their errors. The first row is the header."""
    number, header = next(rows)
    assert isinstance(header, list)  # noqa: S101  # the readers raise BrokenFileError instead
    columns = mapping.columns_for(header, number)
    # Columns without a name must be empty, unless someone has said which columns are left out.
    is_own = not (mapping.columns or mapping.names)
    unnamed = [position for position, column in enumerate(columns) if is_own and not column]
    for number, row in rows:
        if isinstance(row, str):
            yield number, row
            continue
        if filled := [position for position in unnamed if VISIBLE.search(row[position])]:
            yield number, f"column {filled[0] + 1} has no name: write one above it, or empty the column."
            continue
        found = dict(zip(columns, row, strict=True))
        found.pop("", None)
        if mapping.skip_unnamed and not VISIBLE.search(found.get("name", "")):
            continue
        if mapping.statuses and (status := found.get("status")):
            found["status"] = mapping.statuses.get(word_of(status), status)
        if mapping.dates and (created_at := found.get("created_at")):
            found["created_at"] = in_utc(created_at, mapping.dates) or created_at
        yield number, found


def in_utc(text: str, dates: str) -> str | None:
    """Return a time as the rows of files have it, or None if it is not written in this way, or as ISO 8601."""
    text = text.strip().replace(", ", " ")  # browsers write a comma before the time
    if dates == "yy-mm-dd":
        text = _SHORT_YEAR_FIRST.sub(r"20\1-\3-\4", text)
    else:
        text = _SHORT_YEAR_LAST.sub(r"\g<1>20\3", text)
    for pattern in ("", *(DATES[dates] + clock for clock in _CLOCKS)):
        with suppress(ValueError, OverflowError):
            # Without an offset, the time gets the zone of the store in the next step.
            moment = datetime.strptime(text, pattern) if pattern else datetime.fromisoformat(text)  # noqa: DTZ007
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=settings.STORE_TIME_ZONE)
            return moment.astimezone(UTC).isoformat()
    return None
