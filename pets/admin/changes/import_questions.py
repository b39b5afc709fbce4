"""An uploaded table, and the form of the questions that it leaves open: the meaning of its columns and words."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from itertools import islice
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.template.defaultfilters import truncatechars

from pets.fields import EDITABLE
from pets.files.reading import table_rows
from pets.files.rows import VISIBLE, BrokenFileError, exact_time, word_of
from pets.files.table_columns import DATES, ColumnMapping, in_utc, known_column, known_columns, known_status
from pets.models import ImportedFile, Pet, Upload
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.admin_pages.wording import first_names
from petservice.api.validators import is_id

NO_PETS = "There are no pets in this file. If another sheet of a workbook has them, write the name of that sheet."
TOO_MANY = (
    f"The file has more than {MAX_COUNTED:,} pets. Split it, or ask your administrator to use the import_pets command."
)
# Maximum number of different words that people translate to statuses. A column with more has something else.
_MAX_WORDS = 30
# Maximum number of examples of a column and of lines of a word, and of rows without a name that the page lists.
_MAX_EXAMPLES, _MAX_UNNAMED = 3, 20
# Maximum number of characters that the page shows of a cell or of a row, because files of shops have descriptions.
_MAX_TEXT = 80
_COLUMNS = [
    ("", "Leave out"),
    *((name, name.capitalize()) for name in EDITABLE),
    ("created_at", "Created"),
    ("id", "ID"),
]
_STATUSES = [("", "Choose…"), *Pet.Status.choices]


class Table:
    """The header and the first readable rows of a table. The preview tells what is wrong with the other ones."""

    def __init__(self, upload: Upload, mapping: ColumnMapping) -> None:
        """Read a table. Raises BrokenFileError."""
        self.is_headerless = mapping.is_headerless
        with closing(table_rows(BytesIO(upload.content), upload.kind, mapping)) as found:
            self.number, header = next(found)
            self.header = [*header]
            lines = [*islice(found, MAX_COUNTED + 1)]
        # All of them, for the preview, because reading a workbook again can take as long as ten seconds.
        self.all: list[tuple[int, list[str] | str]] = [(self.number, header), *lines]
        self.rows = [(number, row) for number, row in lines if not isinstance(row, str)]
        # The positions of the columns that have a name or a text.
        self.used = [n for n, name in enumerate(self.header) if word_of(name) or next(self.texts(n), None)]
        # The line that was taken for the header may be a pet, also the last one, whose name may be a known word.
        self.may_be_headerless = bool(self.used) and known_columns(header) < 2 and not self.is_own
        if len(lines) > MAX_COUNTED or not (lines or self.may_be_headerless):
            raise BrokenFileError(0, TOO_MANY if lines else NO_PETS)

    def texts(self, *positions: int) -> Iterator[tuple[int, str]]:
        """Yield the line numbers and the texts of the cells of these columns that are not blank."""
        return ((number, row[n]) for n in positions for number, row in self.rows if VISIBLE.search(row[n]))

    @property
    def is_own(self) -> bool:
        """Return whether the columns are those of pets, which need no answers."""
        columns, own = self.likely_columns(), [word_of(name) for name in self.header]
        return "name" in columns and all(own[n] and own[n] == columns[n] for n in self.used)

    def has_foreign_ids(self, position: int) -> bool:
        """Return whether the column has ids, none of which is that of a pet."""
        texts = [text for _, text in self.texts(position)]
        return word_of(self.header[position]) == "id" and bool(texts) and not any(map(is_id, texts))

    def likely_columns(self) -> list[str]:
        """Return the column of a pet that each column probably is, each once, or an empty text."""
        found: list[str] = []
        for position, name in enumerate(self.header):
            column = known_column(name)
            found.append("" if column in found or self.has_foreign_ids(position) else column)
        return found

    def proposal(self, mapping: ColumnMapping) -> ColumnMapping:
        """Return what people said of the columns, or of the last file with the same header, or else known words."""
        header = sha256("\0".join(map(word_of, self.header)).encode()).hexdigest()
        if mapping.header == header:
            return mapping
        last = ImportedFile.objects.filter(mapping__header=header).order_by("pk").last()
        if last and last.mapping:
            return replace(ColumnMapping.stored(last.mapping), sheet=mapping.sheet, encoding=mapping.encoding)
        return replace(mapping, columns=self.likely_columns(), header=header)


def _name_of(question: str, text: str) -> str:
    """Return the name of the field of a question about a text.

    Texts are no names of fields, and one name for several texts would give the answer about a column to another one.
    """
    return f"{question}-{sha256(text.encode()).hexdigest()[:16]}"


class QuestionsForm(forms.Form):
    """A form with a field for each column, and for each question that the chosen columns raise, with proposals."""

    def __init__(self, upload: Upload, sent: dict[str, Any] | None = None) -> None:
        """Read the table. Raises BrokenFileError."""
        super().__init__(sent, label_suffix="")
        self._sent, mapping = sent, ColumnMapping.stored(upload.mapping)
        if sent is not None:
            mapping = replace(mapping, is_headerless="is_headerless" in sent)
        self.table = Table(upload, mapping)
        self._mapping = self.table.proposal(mapping)
        if sent is None and self._mapping.is_headerless != mapping.is_headerless:
            self.table = Table(upload, self._mapping)
        columns = self._mapping.columns if sent is None else self._sent_columns(sent)
        for n in self.table.used:
            self._ask_column(n, columns[n])
        if self.table.may_be_headerless:
            label = "Each line is a pet: the file does not name its columns"
            self._add("is_headerless", forms.BooleanField(label=label, required=False), self._mapping.is_headerless)
        positions = {name: [n for n, column in enumerate(columns) if column == name] for name, _ in _COLUMNS}
        self._ask_statuses(self.table.texts(*positions["status"]))
        self._ask_dates([text for _, text in self.table.texts(*positions["created_at"])])
        self._ask_unnamed(positions["name"])
        self.has_questions = not self.table.is_own or len(self.fields) > len(self.table.used)

    def _sent_columns(self, values: dict[str, Any]) -> list[str]:
        return [values.get(f"column-{n}", "") for n in range(len(self.table.header))]

    def _add(self, name: str, field: forms.Field, initial: Any) -> None:
        field.initial = initial
        self.fields[name] = field
        if self._sent is not None and isinstance(field, forms.ChoiceField):
            self._sent.setdefault(name, initial)  # of a question that another answer raises

    def _ask_column(self, position: int, column: str) -> None:
        label = truncatechars(self.table.header[position].strip() or f"Column {position + 1}", _MAX_TEXT)
        examples = islice(dict.fromkeys(text for _, text in self.table.texts(position)), _MAX_EXAMPLES)
        text = ", ".join(truncatechars(example, _MAX_TEXT) for example in examples)
        if self.table.has_foreign_ids(position):
            text = f"These IDs are not those of pets here, so they are left out: {text}"
        field = forms.ChoiceField(choices=_COLUMNS, required=False, label=label, help_text=text)
        # An import ignores the creator and the time of a sale, which exports have.
        self._add(f"column-{position}", field, column if column in dict(_COLUMNS) else "")

    def _ask_statuses(self, texts: Iterator[tuple[int, str]]) -> None:
        """Ask for the meaning of each word that is no status, unless the column has something else."""
        words: dict[str, list[int]] = {}
        for number, text in texts:
            # The preview rejects NUL, which PostgreSQL could not store as a part of the answers.
            if (word := word_of(text)) not in Pet.Status.values and "\0" not in word:
                words.setdefault(word, []).append(number)
        self._words = {}
        for word, lines in words.items() if len(words) <= _MAX_WORDS else ():
            name = self._words[word] = _name_of("status", word)
            text = f"{len(lines):,} row{'s' * (len(lines) > 1)}: line {first_names(lines, _MAX_EXAMPLES)}"
            error = {"required": "Choose the status that this word means."}
            field = forms.ChoiceField(choices=_STATUSES, label=f"Status “{word}”", help_text=text, error_messages=error)
            self._add(name, field, self._mapping.statuses.get(word) or known_status(word))

    def _ask_dates(self, texts: list[str]) -> None:
        """Ask how the times without an offset from UTC are written, by the ways that fit most of them, if any."""
        foreign = [*dict.fromkeys(text for text in texts if not exact_time(text))]
        self._dates = _name_of("dates", "\0".join(foreign))
        fitting = {name: sum(in_utc(text, name) is not None for text in foreign) for name in DATES}
        most = max(fitting.values())
        dates = [name for name, number in fitting.items() if number == most > 0]
        if dates[:1] == ["year-month-day"]:
            dates = dates[:1]  # ISO 8601, which is read with each of the others, so that all of them fit
        if dates:
            choices = [(name, name) for name in dates]
            if len(dates) > 1:
                choices.insert(0, ("", "Choose…"))
            text = f"Such as {first_names(foreign, _MAX_EXAMPLES)}, in the time zone of this service."
            label, error = "How are the days written?", {"required": "Choose how this file writes days."}
            field = forms.ChoiceField(choices=choices, label=label, help_text=text, error_messages=error)
            # A question that another answer raises is about other texts than the earlier answer.
            is_answered = self._sent is None and self._mapping.dates in dates
            self._add(self._dates, field, self._mapping.dates if is_answered else choices[0][0])

    def _ask_unnamed(self, positions: list[int]) -> None:
        """Ask whether to leave out the rows without a name."""
        found = [
            f"line {number}: {truncatechars(', '.join(filter(VISIBLE.search, row)), _MAX_TEXT)}"
            for n in positions
            for number, row in self.table.rows
            if not VISIBLE.search(row[n])
        ]
        self._unnamed = _name_of("skip_unnamed", "\0".join(found))
        if found:
            label = f"Leave out {len(found):,} row{'s' * (len(found) > 1)} without a name"
            error = {"required": "Tick this, or write the names into the file and upload it again."}
            text = first_names(found, _MAX_UNNAMED)
            field = forms.BooleanField(label=label, error_messages=error, help_text=text)
            self._add(self._unnamed, field, self._mapping.skip_unnamed)

    def clean(self) -> dict[str, Any]:
        columns = [column for column in self._sent_columns(self.cleaned_data) if column]
        if "name" not in columns:
            raise ValidationError("Choose the column that has the names of the pets.")
        if twice := next((column for column in columns if columns.count(column) > 1), None):
            raise ValidationError(f"Two columns are “{dict(_COLUMNS)[twice]}”: leave one of them out.")
        return self.cleaned_data

    @property
    def mapping(self) -> ColumnMapping:
        """Return what the sent form says."""
        values = self.cleaned_data
        return replace(
            self._mapping,
            columns=self._sent_columns(values),
            statuses={**self._mapping.statuses} | {word: values[name] for word, name in self._words.items()},
            dates=values.get(self._dates, ""),
            skip_unnamed=values.get(self._unnamed, False),
            is_headerless=self.table.is_headerless,
        )
