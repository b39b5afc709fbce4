"""An uploaded table, and the forms of the questions that it leaves open: its sheet or encoding, columns and words."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from pets.admin.lists.export_page import MAX_ROWS
from pets.fields import EDITABLE
from pets.files.columns import DATES, ColumnMapping, in_utc, known_column, known_columns, known_status
from pets.files.csv_rows import ENCODINGS
from pets.files.reading import rows
from pets.files.rows import VISIBLE, BrokenFileError, column_of, is_utf_16
from pets.files.workbook import sheet_names
from pets.models import ImportedFile, Pet, Upload
from petservice.api.validators import is_id
from petservice.configuration.time_zone import day_of

NO_PETS = "There are no pets in this file."
TOO_MANY = (
    f"The file has more than {MAX_ROWS:,} pets. Split it, or ask your administrator to use the import_pets command."
)
# Maximum number of columns that the page shows.
_MAX_COLUMNS = 60
# Maximum number of different words that people translate to statuses. A column with more has something else.
_MAX_WORDS = 30
# Maximum number of examples of a column, of lines of a word, and of lines that show how a file looks in an encoding.
_MAX_EXAMPLES = 3
_COLUMNS = [("", "Leave out"), *((name, name.capitalize()) for name in EDITABLE), ("created_at", "Created")]
_STATUSES = [("", "Choose…"), *Pet.Status.choices]


class Table:
    """The header, the rows and the errors of a table, up to a maximum number of lines."""

    def __init__(self, upload: Upload, mapping: ColumnMapping) -> None:
        """Read a table. Raises BrokenFileError if answers would be of no use."""
        found = rows(upload.open(), upload.kind, mapping)
        self.lines = [next(found)]  # the header, and then the rows and errors, as the reader has yielded them
        try:
            for line in islice(found, MAX_ROWS + 1):
                self.lines.append(line)
        except BrokenFileError as error:
            self.lines.append((error.line, error.problem))
        found.close()
        self.number, self.header = self.lines[0][0], list(self.lines[0][1])
        self.rows = [(number, row) for number, row in self.lines[1:] if not isinstance(row, str)]
        self.filled = [n for n, name in enumerate(self.header) if column_of(name) or next(self.texts(n), None)]
        if len(self.rows) > MAX_ROWS:
            raise BrokenFileError(0, TOO_MANY)
        if len(self.lines) == 1:
            raise BrokenFileError(0, NO_PETS)
        if not self.is_own:
            if (width := len(self.filled)) > _MAX_COLUMNS:
                problem = f"{width} columns: delete all but the name, tag, status and day of creation of the pets."
                raise BrokenFileError(self.number, problem)
            for number, row in self.lines:
                if isinstance(row, str):
                    raise BrokenFileError(number, row)

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

    def proposal(self, mapping: ColumnMapping) -> ColumnMapping:
        """Return what people said of the columns, or of the last file with the same header, or else known words."""
        header = sha256("\0".join(map(column_of, self.header)).encode()).hexdigest()
        if mapping.header == header:
            return mapping
        last = ImportedFile.objects.filter(mapping__header=header).order_by("pk").last()
        if last and last.mapping:
            return replace(ColumnMapping.stored(last.mapping), sheet=mapping.sheet, encoding=mapping.encoding)
        return replace(mapping, columns=self.likely_columns(), header=header)


class SourceForm(forms.Form):
    """A form with a field for the sheet of a workbook that has several, or for the encoding of a text."""

    def __init__(self, upload: Upload, mapping: ColumnMapping, data: Any = None) -> None:
        super().__init__(data, label_suffix="")
        if upload.kind == "xlsx" and len(sheets := sheet_names(upload.open())) > 1:
            choices = [(name, name) for name in sheets]
            self.fields["sheet"] = forms.ChoiceField(choices=choices, initial=mapping.sheet or sheets[0])
        elif upload.kind == "csv" and (lines := _undecodable_lines(upload.content)):
            choices = [
                (encoding, f"{name}: {' · '.join(line[:80].decode(encoding, 'replace').strip() for line in lines)}")
                for encoding, name in ENCODINGS.items()
            ]
            label = "Which spelling is right?"
            self.fields["encoding"] = forms.ChoiceField(
                choices=choices, initial=mapping.encoding, label=label, widget=forms.RadioSelect
            )


def _undecodable_lines(content: bytes | memoryview) -> list[bytes]:
    """Return the first lines with special characters of a text that is neither UTF-8 nor UTF-16."""
    content = bytes(content)
    if is_utf_16(content) or b"\0" in content:
        return []
    try:
        content.decode()
    except UnicodeDecodeError:
        return list(islice((line for line in content.splitlines() if not line.isascii()), _MAX_EXAMPLES))
    return []


class ColumnForm(forms.Form):
    """A form with a field for each column and for each question that the chosen columns raise."""

    def __init__(self, table: Table, mapping: ColumnMapping, data: dict[str, Any] | None = None) -> None:
        super().__init__(data or None, label_suffix="")
        self._sent, self._table, self._mapping = data or {}, table, table.proposal(mapping)
        self.number, self.has_new_questions = table.number, False
        columns = list(self._mapping.columns)
        if data:
            columns = [data.get(f"column-{n}", "") for n in range(len(table.header))]
        self.columns = [self._ask_column(n, columns[n]) for n in table.filled]
        self.statuses = self._ask_statuses([n for n, column in enumerate(columns) if column == "status"])
        self._ask_dates([n for n, column in enumerate(columns) if column == "created_at"])
        self.unnamed = self._ask_unnamed([n for n, column in enumerate(columns) if column == "name"])
        self.has_questions = not table.is_own or len(self.fields) > len(self.columns)
        if not known_columns(table.header):
            label = f"Line {table.number} is a pet, too: the file does not name its columns"
            field = forms.BooleanField(label=label, required=False)
            self._add("is_headerless", field, self._mapping.is_headerless)

    def _add(self, name: str, field: forms.Field, initial: Any) -> Any:
        field.initial = initial
        self.fields[name] = field
        if self.is_bound and name not in self._sent and field.required and not isinstance(field, forms.BooleanField):
            # A new question, because of another answer. It is asked with the proposal.
            self._sent[name] = initial
            self.has_new_questions = True
        return self[name]

    def _ask_column(self, position: int, column: str) -> dict[str, Any]:
        name = self._table.header[position].strip() or f"Column {position + 1}"
        own, has_foreign_ids = column_of(name), self._table.has_foreign_ids(position)
        is_other = own in ("id", "created_by", "sold_at") and not has_foreign_ids
        choices = [*_COLUMNS, (own, own)] if is_other else _COLUMNS
        field = forms.ChoiceField(choices=choices, required=False, label=name)
        return {
            "name": name,
            "examples": list(islice(dict.fromkeys(text for _, text in self._table.texts(position)), _MAX_EXAMPLES)),
            "field": self._add(f"column-{position}", field, column),
            "has_foreign_ids": has_foreign_ids,
        }

    def _ask_statuses(self, positions: list[int]) -> list[dict[str, Any]]:
        """Ask for the meaning of each word that is no status, unless the column has something else."""
        words: dict[str, list[int]] = {}
        for number, text in self._table.texts(*positions):
            if (word := text.strip().lower()) not in Pet.Status.values:
                words.setdefault(word, []).append(number)
        found = []
        for word, lines in words.items() if len(words) <= _MAX_WORDS else ():
            # Words are no names of fields, and a number would mean another word after a change of the column.
            name = f"status-{sha256(word.encode()).hexdigest()[:16]}"
            likely = self._mapping.statuses.get(word) or known_status(word)
            field = self._add(name, forms.ChoiceField(choices=_STATUSES, label=word), likely)
            found.append({"word": word, "lines": lines[:_MAX_EXAMPLES], "count": len(lines), "field": field})
        return found

    def _ask_dates(self, positions: list[int]) -> None:
        """Ask how the times without an offset from UTC are written, if there is a way that fits all of them."""
        foreign = [text for _, text in self._table.texts(*positions) if not _is_exact(text)]
        dates = [name for name in DATES if foreign and all(in_utc(text, name) for text in foreign)]
        if dates[:1] == ["year-month-day"]:
            dates = dates[:1]  # which is read besides each of the others, so that all of them fit
        if dates:
            example = next((text for text in foreign if not in_utc(text, "year-month-day")), foreign[0])
            days = [day_of(datetime.fromisoformat(in_utc(example, name) or "")) for name in dates]
            choices = [(name, f"{name}: {example} is {day}") for name, day in zip(dates, days, strict=True)]
            choices = choices if len(dates) == 1 else [("", "Choose…"), *choices]
            initial = self._mapping.dates if self._mapping.dates in dates else choices[0][0]
            self._add("dates", forms.ChoiceField(choices=choices, label="How are the days written?"), initial)

    def _ask_unnamed(self, positions: list[int]) -> list[tuple[int, str]]:
        """Ask whether to leave out the rows without a name, and return their lines and texts."""
        found = [
            (number, ", ".join(filter(VISIBLE.search, row)))
            for n in positions
            for number, row in self._table.rows
            if not VISIBLE.search(row[n])
        ]
        if found:
            label = f"Leave out {len(found):,} row{'s' * (len(found) > 1)} without a name"
            error = {"required": "Tick this, or write the names into the file and upload it again."}
            field = forms.BooleanField(label=label, error_messages=error)
            self._add("skip_unnamed", field, self._mapping.skip_unnamed)
        return found

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        columns = [values[name] for name in self.fields if name.startswith("column-") and values.get(name)]
        if "name" not in columns:
            raise ValidationError("Choose the column that has the names of the pets.")
        if twice := next((column for column in columns if columns.count(column) > 1), None):
            raise ValidationError(f"Two columns are “{dict(_COLUMNS).get(twice, twice)}”: leave one of them out.")
        if self.has_new_questions:
            raise ValidationError("Your choice of columns raises more questions. Check the answers.")
        return values

    @property
    def mapping(self) -> ColumnMapping:
        """Return what the sent form says."""
        values = self.cleaned_data
        return replace(
            self._mapping,
            columns=[values.get(f"column-{n}", "") for n in range(len(self._table.header))],
            statuses={**self._mapping.statuses} | {row["word"]: values[row["field"].name] for row in self.statuses},
            dates=values.get("dates", ""),
            skip_unnamed=values.get("skip_unnamed", False),
            is_headerless=values.get("is_headerless", False),
        )


def _is_exact(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
