"""The meaning of a file's columns, statuses and dates, and the values of pets that its rows have by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from django.conf import settings

from pets.files.rows import COLUMNS, VISIBLE, BrokenFileError, Rows, Values, column_of, unknown_columns
from petservice.monitoring.redaction import echo

# The ways to write a day, by the names that pages and options have for them. A time may follow.
DATES = {
    "year-month-day": "%Y-%m-%d",
    "day.month.year": "%d.%m.%Y",
    "day/month/year": "%d/%m/%Y",
    "month/day/year": "%m/%d/%Y",
    "day-month-year": "%d-%m-%Y",
}
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


@dataclass(frozen=True)
class ColumnMapping:
    """The answers of people about a file. Without `columns` and `names`, the columns must be those of pets.

    The database has earlier ones, so fields are only added.
    """

    # The column of a pet for each column of the file, empty for one that is left out; or by the file's own names.
    columns: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    statuses: Mapping[str, str] = field(default_factory=dict)  # by words in lower case
    dates: str = ""  # a key of DATES
    skip_unnamed: bool = False
    is_headerless: bool = False  # the line that names the columns elsewhere is a pet, too
    sheet: str = ""
    encoding: str = ""
    header: str = ""  # the digest of the header

    def columns_for(self, header: Sequence[str], number: int) -> Sequence[str]:
        """Return the columns of a pet for the columns of the file. Raises BrokenFileError if there are no such ones."""
        if self.columns:
            return self.columns
        found = [column_of(name) for name in header]
        if not self.names:
            return _checked(found, header, number)
        names = {column_of(name): column for name, column in self.names.items()}
        if missing := [name for name in self.names if found.count(column_of(name)) != 1]:
            raise BrokenFileError(number, f"there is no column {echo(missing[0])}, or more than one.")
        columns = list(self.names.values())
        if twice := next((column for column in columns if columns.count(column) > 1), None):
            raise BrokenFileError(number, f"two columns are {twice}: leave one of them out.")
        return [names.get(name, "") for name in found]


OWN = ColumnMapping()


def values(rows: Rows, mapping: ColumnMapping) -> Values:
    """Yield the values of the rows. The first row is the header."""
    number, header = next(rows)
    assert isinstance(header, list)  # noqa: S101  # the readers raise BrokenFileError instead
    columns = mapping.columns_for(header, number)
    is_mapped = columns is mapping.columns or bool(mapping.names)
    first = [(number, header)] if mapping.is_headerless else []
    for number, row in chain(first, rows):
        found = row if isinstance(row, str) else _values(columns, row, mapping, is_mapped)
        if isinstance(found, str) or not (mapping.skip_unnamed and not VISIBLE.search(found.get("name", ""))):
            yield number, found


def _values(columns: Sequence[str], row: list[str], mapping: ColumnMapping, is_mapped: bool) -> dict[str, Any] | str:
    values = dict(zip(columns, row, strict=True))
    if values.pop("", None) is not None and not is_mapped:
        for position, (column, cell) in enumerate(zip(columns, row, strict=True), start=1):
            if not column and VISIBLE.search(cell):
                return f"column {position} has no name: write one into the first line, or empty the column."
    if mapping.statuses and (status := values.get("status")):
        values["status"] = mapping.statuses.get(status.strip().lower(), status)
    if mapping.dates and (created_at := values.get("created_at")):
        values["created_at"] = in_utc(created_at, mapping.dates) or created_at
    return values


def in_utc(text: str, dates: str) -> str | None:
    """Return a time as the rows of files have it, or None if it is not written in this way, or as ISO 8601."""
    moment: datetime | None = None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        for clock in _CLOCKS:
            try:
                moment = datetime.strptime(text.strip(), DATES[dates] + clock)  # noqa: DTZ007  # it gets one below
                break
            except ValueError:
                continue
    try:
        local = moment and (moment if moment.tzinfo else moment.replace(tzinfo=settings.STORE_TIME_ZONE))
        return local.astimezone(UTC).isoformat() if local else None
    except OverflowError:
        return None


def _checked(found: Sequence[str], header: Sequence[str], number: int) -> Sequence[str]:
    named = [column for column in found if column]
    columns = (
        f"the first line must name the columns, separated by commas, semicolons or tabs, out of {', '.join(COLUMNS)}"
    )
    if not set(named) <= set(COLUMNS):
        raise BrokenFileError(number, f"{columns}; not {unknown_columns(header)}. --columns says what others mean.")
    if "name" not in named or len(set(named)) < len(named):
        raise BrokenFileError(number, f"{columns}; each once, and name always.")
    return found
