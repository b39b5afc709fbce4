"""Files of pets in the admin: uploaded, looked at and imported, or exported from the list.

django-import-export has the addresses, the buttons, the page frames and the export. Its way from an upload to the
database is ours: it keeps the upload on one machine's disk, for whoever knows its name, and looks for no change between
the preview and the import; and its preview is a write that is rolled back, which on SQLite keeps the API's writers out.
"""

import io
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from import_export import admin as import_export
from import_export.formats import base_formats
from import_export.forms import ExportForm
from import_export.resources import ModelResource
from import_export.results import Result, RowResult

from pets import creator
from pets.fields import EDITABLE
from pets.files.merging import Comparison, Difference, StaleError, compare, merge
from pets.files.reading import read
from pets.files.rows import COLUMNS, Line, Row
from pets.files.writing import write
from pets.models import Pet, Upload

# Pets that are previewed, imported and exported well within the time that a worker has for a request.
MAX_ROWS = 10_000
# An exported file can be imported again: a pet takes less than 4 KiB even if JSON escapes all of its 510 characters.
MAX_BYTES = MAX_ROWS * 4 * 1024
# Pets of a preview, and errors, that a page shows; the preview counts the others.
MAX_SHOWN = 200
MAX_ERRORS = 100
KINDS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
# Who made a pet may name an API key, and is recorded rather than imported.
EXPORTED = COLUMNS[:-1]
# Without it spreadsheets take UTF-8 for something else.
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class UploadForm(forms.Form):
    """A file of pets, of which the name tells the format."""

    file = forms.FileField(
        widget=forms.FileInput(attrs={"accept": ",".join(KINDS)}),
        help_text=f"CSV or JSON, at most {filesizeformat(MAX_BYTES)} and {MAX_ROWS:,} pets.",
    )

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        size = file.size or 0
        if size > MAX_BYTES:
            raise ValidationError(
                f"The file is {filesizeformat(size)}; the limit is {filesizeformat(MAX_BYTES)}. Split it, or ask your "
                "administrator to use the import_pets command."
            )
        if _suffix(file) not in KINDS:
            raise ValidationError(
                f"The name must end with {', '.join(KINDS)}. In a spreadsheet, save as “CSV UTF-8 (comma delimited)”."
            )
        return file


def _suffix(file: UploadedFile) -> str:
    return Path(file.name or "").suffix.lower()


class FormatForm(ExportForm):  # type: ignore[misc]  # the library has no types
    """CSV or JSON, CSV unless another is chosen."""

    def _init_formats(self, formats: Any) -> None:
        super()._init_formats(formats)
        self.fields["format"].choices = [(str(n), f().get_title().upper()) for n, f in enumerate(formats)]


class PetResource(ModelResource):  # type: ignore[misc]  # the library has no types
    """Pets as rows."""

    class Meta:
        model = Pet
        fields = EXPORTED

    def import_data(self, dataset: list[Line], dry_run: bool = False, **kwargs: Any) -> Result:
        """What the rows do to the pets, or with `dry_run` would do: then nothing is written, and no transaction begun.

        Raises StaleError if they would do something else than the comparison with the given digest.
        """
        if dry_run:
            return _result(compare(dataset))
        return _result(merge(dataset, digest=kwargs["digest"], user_id=kwargs["user"].pk))


def _result(comparison: Comparison) -> Result:
    result = Result()
    result.diff_headers = list(EDITABLE)
    result.digest = comparison.digest
    result.total_rows = len(comparison.differences)
    for number, problem in comparison.problems:
        result.append_invalid_row(number, {}, ValidationError(problem))
    for difference in comparison.differences:
        row = RowResult()
        row.number = difference.line
        row.import_type = _import_type(difference)
        row.diff = [_marked(difference, field) for field in EDITABLE]
        result.increment_row_result_total(row)
        result.append_row_result(row)
    return result


def _import_type(difference: Difference) -> Any:
    if difference.before is None:
        return RowResult.IMPORT_TYPE_NEW
    return RowResult.IMPORT_TYPE_UPDATE if difference.changed else RowResult.IMPORT_TYPE_SKIP


def _marked(difference: Difference, field: str) -> str:
    """The value of a field; a changed one with what it was. The library marks with styles, which the policy forbids."""
    before, after = getattr(difference.before, field, None) or "", getattr(difference.after, field) or ""
    if difference.before is None or before == after:
        return after
    return format_html("<del>{}</del> <ins>{}</ins>", before, after)


class PetImportExport(import_export.ImportExportMixin):  # type: ignore[misc]  # the library has no types
    """Import and export for a ModelAdmin of pets."""

    resource_classes = [PetResource]
    formats = [base_formats.CSV, base_formats.JSON]
    export_form_class = FormatForm
    import_template_name = "admin/pets/pet/import.html"

    def has_import_permission(self, request: HttpRequest) -> bool:
        return bool(self.has_add_permission(request) and self.has_change_permission(request))

    def has_export_permission(self, request: HttpRequest) -> bool:
        return bool(self.has_view_permission(request))

    # Importing: upload, preview, confirmation.

    def import_action(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """The form for a file, and its preview; or what is wrong with it."""
        if not self.has_import_permission(request):
            raise PermissionDenied
        form = UploadForm(request.POST or None, request.FILES or None)
        if not form.is_valid():
            return self._page(request, form=form)
        file = form.cleaned_data["file"]
        upload = Upload(kind=KINDS[_suffix(file)], content=file.read())
        upload.owner = request.user  # type: ignore[assignment]  # who is not anonymous here
        lines = _lines(request, upload)
        if not lines:
            form.add_error("file", "There are no pets in this file.")
        if len(lines) > MAX_ROWS:
            form.add_error(
                "file",
                f"The file has more than {MAX_ROWS:,} pets. Split it, or ask your administrator to use the import_pets "
                "command.",
            )
        return self._page(request, form=form) if form.errors else self._preview(request, upload, lines)

    def _preview(self, request: HttpRequest, upload: Upload, lines: list[Line]) -> HttpResponse:
        result = PetResource().import_data(lines, dry_run=True)
        if result.has_validation_errors():
            return self._page(request, form=UploadForm(), result=result)
        upload.keep(digest=result.digest)
        return self._page(request, result=result, upload=upload)

    def process_import(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """Imports what the preview has shown, once; shows another preview if it would be something else by now."""
        if not self.has_import_permission(request):
            raise PermissionDenied
        if request.method != "POST":  # whoever had to log in again, which leads here without the form
            messages.warning(request, "Nothing was imported: choose the file once more.")
            return HttpResponseRedirect(reverse("admin:pets_pet_import"))
        upload = _uploaded(request)
        if upload is None:
            return self._back_to_the_list(request, None)
        lines = _lines(request, upload)
        try:
            with transaction.atomic():
                # Of a form that is sent twice, the second waits here for the first to end, and then deletes nothing.
                is_first, _ = Upload.objects.filter(pk=upload.pk).delete()
                resource = PetResource()
                result = resource.import_data(lines, digest=upload.digest, user=request.user) if is_first else None
        except StaleError:
            messages.warning(request, "Nothing was imported: some of the pets have been changed since. Look again.")
            return self._preview(request, upload, lines)
        return self._back_to_the_list(request, result)

    def _back_to_the_list(self, request: HttpRequest, result: Result | None) -> HttpResponse:
        if result:
            messages.success(request, f"Imported {_totals(result)}.")
        else:
            messages.warning(
                request,
                "This preview is no longer valid: the file was already imported, or the preview has expired. Check the "
                "list of pets before you upload it again.",
            )
        return HttpResponseRedirect(reverse("admin:pets_pet_changelist"))

    def _page(self, request: HttpRequest, *, result: Result | None = None, **context: Any) -> HttpResponse:
        context |= self.admin_site.each_context(request) | {
            "title": "Import",
            "opts": self.opts,
            "columns": ", ".join(EXPORTED),
            "result": result,
            "confirm_form": context.get("upload"),
            "shown_rows": result and result.rows[:MAX_SHOWN],
            "has_more_rows": result and len(result.rows) > MAX_SHOWN,
            "totals": result and _totals(result),
            "invalid_rows": result and result.invalid_rows[:MAX_ERRORS],
            "more_errors": result and len(result.invalid_rows) > MAX_ERRORS,
        }
        return TemplateResponse(request, self.import_template_name, context)

    # Exporting.

    def get_export_data(
        self, file_format: base_formats.Format, request: HttpRequest, queryset: QuerySet[Pet], **kwargs: Any
    ) -> bytes:
        """The pets of the list, without those who made them; the page shows the text of a ValueError."""
        if not self.has_export_permission(request):
            raise PermissionDenied
        # One more than is exported tells whether there are too many, without a count.
        values = list(queryset.values_list(*COLUMNS)[: MAX_ROWS + 1])
        if len(values) > MAX_ROWS:
            raise ValueError(
                f"The list has more than {MAX_ROWS:,} pets. Filter it, or ask whoever runs the service to export "
                "all pets with the command export_pets."
            )
        rows = (Row(*row) for row in values)
        return _csv(rows) if isinstance(file_format, base_formats.CSV) else _json(rows)


def _csv(rows: Iterable[Row]) -> bytes:
    return _BYTE_ORDER_MARK + b"".join(write(rows, "csv", EXPORTED))


def _json(rows: Iterable[Row]) -> bytes:
    """A JSON array with a pet a line."""
    return b"[\n" + b",\n".join(line.rstrip() for line in write(rows, "jsonl", EXPORTED)) + b"\n]\n"


def _uploaded(request: HttpRequest) -> Upload | None:
    """The upload that the form names, if it is still there, has not expired and is the user's own."""
    try:
        pk = UUID(request.POST.get("upload", ""))
    except ValueError:
        return None
    begin = timezone.now() - Upload.LIFETIME
    return Upload.objects.filter(pk=pk, owner_id=request.user.pk, created_at__gt=begin).first()


def _lines(request: HttpRequest, upload: Upload) -> list[Line]:
    """Of the file, at most one more than is imported here."""
    # Whoever the file names: a pet that the user makes is the user's.
    created_by = creator.of_staff(request.user.get_username())
    lines = read(io.BytesIO(upload.content), upload.kind, now=timezone.now(), created_by=created_by)
    return [
        line._replace(row=line.row and line.row._replace(created_by=created_by)) for line in islice(lines, MAX_ROWS + 1)
    ]


def _totals(result: Result) -> str:
    return (
        f"{result.totals[RowResult.IMPORT_TYPE_NEW]} new, {result.totals[RowResult.IMPORT_TYPE_UPDATE]} changed and "
        f"{result.totals[RowResult.IMPORT_TYPE_SKIP]} unchanged"
    )
