"""An uploaded table, and the questions about it that people must answer before it is imported."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from pets.files.known_words import known_column
from pets.files.mapping import DATES, ColumnMapping, in_utc
from pets.files.reading import rows
from pets.files.rows import VISIBLE, BrokenFileError, File, column_of
from pets.models import Pet
from petservice.api.validators import is_id

# Maximum number of different words that people translate to statuses. A column with more has something else.
_MAX_WORDS = 30


class Table:
    """The header, the rows and the errors of a table, up to a maximum number of lines."""

    def __init__(self, file: File, kind: str, mapping: ColumnMapping, max_lines: int) -> None:
        """Read a table. Raises BrokenFileError if it has no header."""
        found = rows(file, kind, mapping)
        self.lines = [next(found)]  # the header, and then the rows and errors, as the reader has yielded them
        try:
            for line in islice(found, max_lines):
                self.lines.append(line)
        except BrokenFileError as error:
            self.lines.append((error.line, error.problem))
        found.close()
        self.number, self.header = self.lines[0][0], list(self.lines[0][1])
        self.rows = [(number, row) for number, row in self.lines[1:] if not isinstance(row, str)]
        self.errors = [(number, error) for number, error in self.lines[1:] if isinstance(error, str)]
        self.filled = [n for n, name in enumerate(self.header) if column_of(name) or next(self.texts(n), None)]

    def texts(self, *positions: int) -> Iterator[tuple[int, str]]:
        """Yield the line numbers and the texts of the cells of these columns that are not blank."""
        return ((number, row[n]) for n in positions for number, row in self.rows if VISIBLE.search(row[n]))

    @property
    def is_own(self) -> bool:
        """Return whether the columns are those of pets, which need no answers."""
        columns, own = self.likely_columns(), [column_of(name) for name in self.header]
        return "name" in columns and all(own[n] and own[n] == columns[n] for n in self.filled)

    def has_foreign_ids(self, position: int) -> bool:
        """Return whether the column has ids, none of which is that of a pet."""
        texts = [text for _, text in self.texts(position)]
        return column_of(self.header[position]) == "id" and bool(texts) and not any(map(is_id, texts))

    def likely_columns(self) -> list[str]:
        """Return the column of a pet that each column probably is, each once, or an empty text."""
        found: list[str] = []
        for position, name in enumerate(self.header):
            column = known_column(name)
            found.append("" if column in found or self.has_foreign_ids(position) else column)
        return found

    def foreign_statuses(self, columns: Sequence[str]) -> dict[str, list[int]]:
        """Return the lines of each word in the column of the status that is no status."""
        found: dict[str, list[int]] = {}
        for number, text in self.texts(*_positions(columns, "status")):
            if (word := text.strip().lower()) not in Pet.Status.values:
                found.setdefault(word, []).append(number)
        return found if len(found) <= _MAX_WORDS else {}

    def foreign_dates(self, columns: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the times without an offset from UTC, and the keys of DATES that fit all of them."""
        foreign = [text for _, text in self.texts(*_positions(columns, "created_at")) if not _is_exact(text)]
        fitting = [dates for dates in DATES if foreign and all(in_utc(text, dates) for text in foreign)]
        # The international way, which is read besides each of the others, is the only one where all times have it.
        return foreign, fitting[:1] if fitting[:1] == ["year-month-day"] else fitting

    def unnamed(self, columns: Sequence[str]) -> list[tuple[int, str]]:
        """Return the lines of the rows without a name, and their texts."""
        return [
            (number, ", ".join(filter(VISIBLE.search, row)))
            for n in _positions(columns, "name")
            for number, row in self.rows
            if not VISIBLE.search(row[n])
        ]


def _positions(columns: Sequence[str], column: str) -> list[int]:
    return [position for position, name in enumerate(columns) if name == column]


def _is_exact(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
