"""The preview of an import, as django-import-export presents it."""

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.html import format_html
from import_export.resources import ModelResource
from import_export.results import Result, RowResult

from pets.fields import EDITABLE
from pets.files import import_diff
from pets.files.import_diff import ImportPreview, RowChange
from pets.files.rows import COLUMNS, Line
from pets.models import Pet

# All columns except the creator, which may contain the prefix of an API key.
EXPORTED = COLUMNS[:-1]


class PetResource(ModelResource):  # type: ignore[misc]  # the library has no types
    """The pets, for django-import-export."""

    class Meta:
        model = Pet
        fields = EXPORTED

    def import_data(self, dataset: list[Line], dry_run: bool = False, **kwargs: Any) -> Result:
        """Import the rows, or with `dry_run` compare them with the pets, without a write or a transaction.

        Raises StaleError if the pets have changed since the preview with the given digest.
        """
        if dry_run:
            return _result(import_diff.preview(dataset))
        return _result(import_diff.apply(dataset, digest=kwargs["digest"], user_id=kwargs["user"].pk))


def _result(preview: ImportPreview) -> Result:
    result = Result()
    result.diff_headers = list(EDITABLE)
    result.digest = preview.digest
    result.total_rows = len(preview.changes)
    result.changes = preview.changes
    for number, error in preview.errors:
        result.append_invalid_row(number, {}, ValidationError(error))
    for change in preview.changes:
        row = RowResult()
        row.number = change.line
        row.import_type = _import_type(change)
        row.diff = [_marked(change, field) for field in EDITABLE]
        result.increment_row_result_total(row)
        result.append_row_result(row)
    return result


def _import_type(change: RowChange) -> Any:
    if change.before is None:
        return RowResult.IMPORT_TYPE_NEW
    return RowResult.IMPORT_TYPE_UPDATE if change.changed_fields else RowResult.IMPORT_TYPE_SKIP


def _marked(change: RowChange, field: str) -> str:
    """Return the value of a field, after its old value if it changes.

    The library marks changes with inline styles, which the Content-Security-Policy forbids.
    """
    before, after = getattr(change.before, field, None) or "", getattr(change.after, field) or ""
    if change.before is None or before == after:
        return after
    return format_html("<del>{}</del> <ins>{}</ins>", before, after)
