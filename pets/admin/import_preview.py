"""The rows of the preview of an import."""

from django.utils.html import format_html

from pets.fields import EDITABLE
from pets.files.import_diff import RowChange
from pets.files.rows import COLUMNS

# All columns except the creator, which may contain the prefix of an API key.
EXPORTED = COLUMNS[:-1]


def cells(change: RowChange) -> list[str]:
    """Return the cells of the row that shows a change, one for each field."""
    return [_marked(change, field) for field in EDITABLE]


def _marked(change: RowChange, field: str) -> str:
    """Return the value of a field, after its old value if it changes."""
    before, after = getattr(change.before, field, None) or "", getattr(change.after, field) or ""
    if change.before is None or before == after:
        return after
    return format_html("<del>{}</del> <ins>{}</ins>", before, after)
