"""The form that asks what the columns of an uploaded table mean, and its statuses, dates and rows without a name."""

from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from pets.fields import EDITABLE
from pets.files.known_words import known_columns, known_status
from pets.files.mapping import ColumnMapping, in_utc
from pets.files.rows import column_of
from pets.files.table import Table
from pets.models import ImportedFile, Pet
from petservice.time_zone import day_of

# Maximum number of examples of a column and of lines of a word that the page shows.
_MAX_EXAMPLES = 3
_COLUMNS = [("", "Leave out"), *((name, name.capitalize()) for name in EDITABLE), ("created_at", "Created")]
_STATUSES = [("", "Choose…"), *Pet.Status.choices]


def proposal(table: Table, mapping: ColumnMapping) -> ColumnMapping:
    """Return what people said of the columns, or of the last file with the same header, or else known words."""
    header = sha256("\0".join(map(column_of, table.header)).encode()).hexdigest()
    if mapping.header == header:
        return mapping
    last = ImportedFile.objects.filter(mapping__header=header).order_by("pk").last()
    if last and last.mapping:
        return replace(ColumnMapping(**last.mapping), sheet=mapping.sheet, encoding=mapping.encoding)
    return replace(mapping, columns=table.likely_columns(), header=header)


class ColumnForm(forms.Form):
    """A form with a field for each column and for each question that the chosen columns raise."""

    has_new_questions = False

    def __init__(self, table: Table, mapping: ColumnMapping, data: dict[str, Any] | None = None) -> None:
        super().__init__(data or None, label_suffix="")
        self._sent = data or {}
        self._table, self._mapping, self.number = table, mapping, table.number
        width = len(table.header)
        columns = [self._sent.get(f"column-{n}", "") for n in range(width)] if data else list(mapping.columns)
        self.columns = [self._column(position, columns[position]) for position in table.filled]
        self.statuses = [self._status(*item) for item in table.foreign_statuses(columns).items()]
        self.unnamed = table.unnamed(columns)
        times, dates = table.foreign_dates(columns)
        if dates:
            label = "How are the days written?"
            example = next((text for text in times if not in_utc(text, "year-month-day")), times[0])
            days = [day_of(datetime.fromisoformat(in_utc(example, name) or "")) for name in dates]
            choices = [(name, f"{name}: {example} is {day}") for name, day in zip(dates, days, strict=True)]
            choices = choices if len(dates) == 1 else [("", "Choose…"), *choices]
            initial = mapping.dates if mapping.dates in dates else choices[0][0]
            self._add("dates", forms.ChoiceField(choices=choices, label=label), initial)
        if self.unnamed:
            label = f"Leave out {len(self.unnamed):,} row{'s' * (len(self.unnamed) > 1)} without a name"
            error = {"required": "Tick this, or write the names into the file and upload it again."}
            self._add("skip_unnamed", forms.BooleanField(label=label, error_messages=error), mapping.skip_unnamed)
        if not known_columns(table.header):
            label = f"Line {table.number} is a pet, too: the file does not name its columns"
            self._add("is_headerless", forms.BooleanField(label=label, required=False), mapping.is_headerless)
        self.has_questions = not table.is_own or bool(self.statuses or dates or self.unnamed)

    def _add(self, name: str, field: forms.Field, initial: Any) -> Any:
        field.initial = initial
        self.fields[name] = field
        if self.is_bound and name not in self._sent and field.required and not isinstance(field, forms.BooleanField):
            # A new question, because of another answer. It is asked with the proposal.
            self._sent[name] = initial
            self.has_new_questions = True
        return self[name]

    def _column(self, position: int, column: str) -> dict[str, Any]:
        name = self._table.header[position].strip() or f"Column {position + 1}"
        own, has_foreign_ids = column_of(name), self._table.has_foreign_ids(position)
        choices = [*_COLUMNS, (own, own)] if own in ("id", "created_by") and not has_foreign_ids else _COLUMNS
        return {
            "name": name,
            "examples": list(islice(dict.fromkeys(text for _, text in self._table.texts(position)), _MAX_EXAMPLES)),
            "field": self._add(
                f"column-{position}", forms.ChoiceField(choices=choices, required=False, label=name), column
            ),
            "has_foreign_ids": has_foreign_ids,
        }

    def _status(self, word: str, lines: list[int]) -> dict[str, Any]:
        # Words are no names of fields, and a number would mean another word after a change of the column.
        name = f"status-{sha256(word.encode()).hexdigest()[:16]}"
        likely = self._mapping.statuses.get(word) or known_status(word)
        field = self._add(name, forms.ChoiceField(choices=_STATUSES, label=word), likely)
        return {"word": word, "lines": lines[:_MAX_EXAMPLES], "count": len(lines), "field": field}

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
