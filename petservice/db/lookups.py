"""Conditions that Django's ORM does not have."""

import json
from collections.abc import Sequence
from typing import Any

from django.db.models import BooleanField, F, Func


class Among(Func):
    """The condition that a field has one of many values, which takes one parameter and a look-up for each value."""

    output_field: Any = BooleanField()
    conditional = True

    def __init__(self, field: str, values: Sequence[Any]) -> None:
        super().__init__(F(field))
        self.values = tuple(values)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, params = compiler.compile(self.source_expressions[0])
        return f"{sql} IN (SELECT value FROM json_each(%s))", [*params, json.dumps(self.values)]  # noqa: S608  # a column

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        field = self.source_expressions[0]
        sql, params = compiler.compile(field)
        kind = field.output_field.db_type(connection)
        return f"{sql} = ANY(%s::{kind}[])", [*params, list(self.values)]


def is_key(text: str) -> bool:
    """Return whether a text of a request can be an integer key of a row, which no database rejects."""
    return text.isascii() and text.isdecimal() and len(text) < len(str(2**63))
