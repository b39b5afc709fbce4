"""The pages of the admin that show the preview or the errors of an uploaded file of pets, and import it."""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from pets import creator
from pets.admin.lists.changelist import count_of_pets
from pets.admin.lists.export_page import EXPORTED, MAX_ROWS
from pets.admin.undoable import Change, Kind, record_change, with_undo
from pets.fields import EDITABLE
from pets.files import import_diff
from pets.files.import_diff import ImportPreview, RowChange, StaleError
from pets.files.mapping import ColumnMapping
from pets.files.reading import read
from pets.files.rows import IMPORTED_FORMATS_BY_SUFFIX, Line
from pets.files.table import Table
from pets.models import ImportedFile, Upload
from petservice.api.validators import is_id
from petservice.journal.models import Event

# An exported file can be imported again: a pet takes less than 4 KiB even if JSON escapes all of its 510 characters.
MAX_BYTES = MAX_ROWS * 4 * 1024
# Maximum numbers of pets of a preview and of errors that a page shows: more than a person reads.
MAX_SHOWN = 200
MAX_ERRORS = 100
NO_PETS = "There are no pets in this file."
TOO_MANY = (
    f"The file has more than {MAX_ROWS:,} pets. Split it, or ask your administrator to use the import_pets command."
)
_ALREADY_IMPORTED = (
    "the same file was imported after you opened the preview. Confirm the new preview only if you want to import it "
    "again."
)


class UploadForm(forms.Form):
    """A form for a file of pets, whose extension determines the format."""

    file = forms.FileField(
        widget=forms.FileInput(attrs={"accept": ",".join(IMPORTED_FORMATS_BY_SUFFIX)}),
        help_text=(
            f"Excel workbook (.xlsx), CSV, text or JSON, at most {filesizeformat(MAX_BYTES)} and {MAX_ROWS:,} pets."
        ),
    )

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        size = file.size or 0
        if size > MAX_BYTES:
            raise ValidationError(
                f"The file is {filesizeformat(size)}; the limit is {filesizeformat(MAX_BYTES)}. Split it, or ask your "
                "administrator to use the import_pets command."
            )
        if format_of(file) is None:
            raise ValidationError(
                f"The file name must end with {', '.join(IMPORTED_FORMATS_BY_SUFFIX)}. In a spreadsheet, save as "
                "“Excel Workbook (.xlsx)” or “CSV UTF-8”."
            )
        return file


def format_of(file: UploadedFile) -> str | None:
    """Return the format that the name of a file says, if it is a known one."""
    return IMPORTED_FORMATS_BY_SUFFIX.get(Path(file.name or "").suffix.lower())


def preview(
    pages: ModelAdmin, request: HttpRequest, upload: Upload, table: Table | None = None, lines: Any = None
) -> HttpResponse:
    """Show the changes that the file makes, or its errors. A table that was read already is not read again."""
    lines = lines or _lines(request, upload, table)
    if len(lines) > MAX_ROWS or not lines:
        return errors_page(pages, request, [(0, TOO_MANY if lines else NO_PETS)])
    found = import_diff.preview(lines)
    if upload.mapping or not found.errors:
        upload.keep(digest=found.digest)
    if found.errors:
        return errors_page(pages, request, found.errors, upload=upload)
    changes = [change for change in found.changes if change.kind != "skip"]
    unchanged = [change for change in found.changes if change.kind == "skip"]
    return page(
        pages,
        request,
        upload=upload,
        imported=ImportedFile.last(upload.content_digest),
        totals=_totals(found),
        fields=EDITABLE,
        tables=[
            (len(part), [(change, [_cell(change, field) for field in EDITABLE]) for change in part[:MAX_SHOWN]])
            for part in (changes, unchanged)
        ],
        max_shown=MAX_SHOWN,
    )


def errors_page(
    pages: ModelAdmin, request: HttpRequest, errors: list[tuple[int, str]], upload: Upload | None = None
) -> HttpResponse:
    """Show the form for a file below the errors of a file, of which nothing was imported."""
    shown, has_more = errors[:MAX_ERRORS], len(errors) > MAX_ERRORS
    return page(pages, request, form=UploadForm(), errors=shown, has_more_errors=has_more, rejected=upload)


def confirmation_view(pages: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Import the previewed file once, or show a new preview if the pets have changed since."""
    require_permission(pages, request)
    if request.method != "POST":  # the login page redirects here without the form
        messages.warning(request, "Nothing was imported. Upload the file again.")
        return HttpResponseRedirect(reverse("admin:pets_pet_import"))
    upload = _uploaded(request)
    if upload is None:
        return _not_valid(request)
    lines = _lines(request, upload)
    digest = upload.content_digest
    try:
        with transaction.atomic():
            # If the form is sent twice, the second request waits here for the first, and then deletes nothing.
            is_first, _ = Upload.objects.filter(pk=upload.pk).delete()
            if is_first and ImportedFile.last(digest, since=upload.created_at):
                raise StaleError(_ALREADY_IMPORTED)
            if not is_first:
                return _not_valid(request)
            done = import_diff.apply(lines, digest=upload.digest)
            event = _record(request, done)
            count = sum(change.kind != "skip" for change in done.changes)
            ImportedFile.objects.create(
                digest=digest, imported_by=request.user.get_username(), count=count, mapping=upload.mapping
            )
    except StaleError as error:
        messages.warning(request, f"Nothing was imported, because {error}")
        return preview(pages, request, upload, lines=lines)
    totals = _totals(done)
    text = f"{count_of_pets(totals['new'])} added, {totals['update']:,} changed, {totals['skip']:,} unchanged"
    message = f"Imported: {text}."
    messages.success(request, with_undo(pages, request, message, event) if event else message)
    return _to_the_list()


def require_permission(pages: ModelAdmin, request: HttpRequest) -> None:
    """Raise PermissionDenied unless the user may add and change pets."""
    if not (pages.has_add_permission(request) and pages.has_change_permission(request)):
        raise PermissionDenied


def page(pages: ModelAdmin, request: HttpRequest, **context: Any) -> HttpResponse:
    """Show the page of the import."""
    context |= pages.admin_site.each_context(request) | {
        "title": "Import pets",
        "opts": pages.opts,
        "columns": ", ".join(EXPORTED),
    }
    return TemplateResponse(request, "admin/pets/pet/import.html", context)


def _record(request: HttpRequest, done: ImportPreview) -> Event | None:
    """Record an import, unless it has changed nothing."""
    changes = [
        Change(
            change.after,
            {name: getattr(change.before, name) for name in change.changed_fields} if change.before else None,
            {name: getattr(change.after, name) for name in (change.changed_fields if change.before else EDITABLE)},
        )
        for change in done.changes
        if change.kind != "skip"
    ]
    if not changes:
        return None
    added = _totals(done)["new"]
    summary = f"Import: {count_of_pets(added)} added, {len(changes) - added:,} changed."
    return record_change(request, Kind.IMPORTED, summary, changes, "pets.add_pet", "pets.change_pet")


def _not_valid(request: HttpRequest) -> HttpResponse:
    messages.warning(
        request,
        "This preview is no longer valid: the file was already imported, you opened a newer preview, or this one has "
        "expired. Check the list of pets before you upload it again.",
    )
    return _to_the_list()


def _to_the_list() -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:pets_pet_changelist"))


def _uploaded(request: HttpRequest) -> Upload | None:
    """Return the upload that the form names, if it exists, has not expired and belongs to the user."""
    pk, begin = request.POST.get("upload", ""), timezone.now() - Upload.LIFETIME
    uploads = Upload.objects.filter(owner_id=request.user.pk, created_at__gt=begin)
    return uploads.filter(pk=pk).first() if is_id(pk) else None


def _lines(request: HttpRequest, upload: Upload, table: Table | None = None) -> list[Line]:
    """Return the lines of the file, at most one more than the limit."""
    # The creator of a new pet is the user who imports it, not the creator that the file names.
    created_by = creator.of_staff(request.user.get_username())
    mapping = ColumnMapping(**upload.mapping or {})
    rows: Any = table and iter(table.lines)
    lines = read(upload.open(), upload.kind, now=timezone.now(), created_by=created_by, mapping=mapping, table=rows)
    return [
        line._replace(row=line.row and line.row._replace(created_by=created_by)) for line in islice(lines, MAX_ROWS + 1)
    ]


def _cell(change: RowChange, field: str) -> str:
    """Return the value of a field for the preview, after its old value if it changes."""
    before, after = getattr(change.before, field, None) or "", getattr(change.after, field) or ""
    if change.before is None or before == after:
        return after
    return format_html("<del>{}</del> <ins>{}</ins>", before, after)


def _totals(preview: ImportPreview) -> Counter[str]:
    """Return the number of rows of each kind."""
    return Counter(change.kind for change in preview.changes)
