"""The pages of the admin that import a file of pets: the upload, its questions, its preview and its confirmation."""

from collections import Counter
from dataclasses import asdict
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import ValidationError
from django.core.validators import FileExtensionValidator
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import format_html

from pets import creator
from pets.admin.changes.import_questions import NO_PETS, TOO_MANY, QuestionsForm, Table
from pets.admin.changes.undo_pages import with_undo
from pets.fields import EDITABLE
from pets.files import import_diff
from pets.files.csv_rows import ENCODINGS
from pets.files.import_diff import RowChange, StaleError
from pets.files.reading import checked_lines
from pets.files.rows import COLUMNS, IMPORTED_FORMATS_BY_SUFFIX, BrokenFileError, Line
from pets.files.table_columns import OWN, ColumnMapping
from pets.models import ImportedFile, Pet, Upload
from pets.models.pet import count_of_pets
from pets.permissions import EDIT
from pets.undo import add_event_of_change, change_of
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.admin_pages.staff_page import staff_page
from petservice.api.validators import is_id
from petservice.configuration.time_zone import moment
from petservice.journal.models import Event

# An exported file can be imported again: a pet takes less than 4 KiB even if JSON escapes all of its 510 characters.
MAX_BYTES = MAX_COUNTED * 4 * 1024
# Maximum numbers of pets of a preview and of errors that a page shows: more than a person reads.
MAX_SHOWN = 200
MAX_ERRORS = 100


def _validate_size(file: Any) -> None:
    if file.size > MAX_BYTES:
        sizes = f"The file is {filesizeformat(file.size)}; the limit is {filesizeformat(MAX_BYTES)}."
        raise ValidationError(f"{sizes} Split it, or ask your administrator to use the import_pets command.")


class UploadForm(forms.Form):
    """A form for a file of pets, whose extension determines the format."""

    file = forms.FileField(
        widget=forms.FileInput(attrs={"accept": ",".join(IMPORTED_FORMATS_BY_SUFFIX)}),
        help_text=(
            f"Excel workbook (.xlsx), CSV, text or JSON, at most {filesizeformat(MAX_BYTES)} and {MAX_COUNTED:,} pets. "
            "Pictures are left out."
        ),
        validators=[
            FileExtensionValidator(
                [suffix.removeprefix(".") for suffix in IMPORTED_FORMATS_BY_SUFFIX],
                f"The file name must end with {', '.join(IMPORTED_FORMATS_BY_SUFFIX)}. In a spreadsheet, save as "
                "“Excel Workbook (.xlsx)” or “CSV UTF-8”.",
            ),
            _validate_size,
        ],
    )
    sheet = forms.CharField(required=False, max_length=31, help_text="Of a workbook; empty for the first one.")
    encoding = forms.ChoiceField(
        required=False, choices=[("", "UTF-8 or UTF-16"), *ENCODINGS.items()], help_text="Of a text from a spreadsheet."
    )


def upload_view(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show the form for a file, and then the questions about the file, its preview or its errors."""
    form = UploadForm(request.POST or None, request.FILES or None)
    if not form.is_valid():
        return _page(request, form=form)
    file = form.cleaned_data["file"]
    mapping = ColumnMapping(sheet=form.cleaned_data["sheet"], encoding=form.cleaned_data["encoding"])
    upload = Upload(
        kind=IMPORTED_FORMATS_BY_SUFFIX[Path(file.name).suffix.lower()],
        content=b"".join(file.chunks()),  # from its beginning, also if the request is repeated
        mapping=None if mapping == OWN else asdict(mapping),
        owner=request.user,  # type: ignore[misc]  # staff are never anonymous
    )
    if not upload.fits():
        form.add_error(
            "file",
            "Too many files of other accounts are waiting for their confirmation. Try again later, or ask your "
            "administrator to use the import_pets command.",
        )
        return _page(request, form=form)
    if upload.kind != "jsonl":
        try:
            questions = QuestionsForm(upload)
        except BrokenFileError as error:
            return _errors_page(request, upload, [(error.line, error.problem)])
        if questions.has_questions:
            upload.keep(digest="")
            return redirect("admin:pets_pet_import_columns")  # so that the button Back of the browser works
        return _preview(request, upload, questions.table)
    return _preview(request, upload)


def columns_view(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show the questions about the table that the user has uploaded last, and then its preview."""
    upload = _uploads(request).exclude(kind="jsonl").order_by("created_at").last()
    if upload is None or request.POST.get("table", upload.table) != upload.table:
        messages.warning(request, "Nothing was imported, because this file is gone or replaced. Upload it again.")
        return redirect("admin:pets_pet_import")
    try:
        form = QuestionsForm(upload, request.POST.dict() or None)
    except BrokenFileError as error:  # of a line that is a pet only if each line is one
        return _errors_page(request, upload, [(error.line, error.problem)])
    if not form.is_valid():
        return _page(request, "import_columns", "Which column is what?", form=form, upload=upload)
    upload.mapping = asdict(form.mapping)
    return _preview(request, upload, form.table)


def _preview(request: HttpRequest, upload: Upload, table: Table | None = None) -> HttpResponse:
    """Show the changes that the file makes, or its errors."""
    lines = _lines(request, upload, table)
    if len(lines) > MAX_COUNTED or not lines:
        return _errors_page(request, upload, [(0, TOO_MANY if lines else NO_PETS)])
    if errors := [*import_diff.errors_in(lines)]:
        if upload.mapping:
            upload.keep(digest="")
        return _errors_page(request, upload, errors)
    found = import_diff.changes_by(lines)
    upload.keep(digest=import_diff.digest_of(found))
    fields = [*EDITABLE, "created_at"] if any("created_at" in line.values for line in lines) else EDITABLE
    changes = [change for change in found if change.kind != "skip"]
    unchanged = [change for change in found if change.kind == "skip"]
    return _page(
        request,
        upload=upload,
        imported=ImportedFile.last(upload.content_digest),
        totals=Counter(change.kind for change in found),
        fields=[field.removesuffix("_at") for field in fields],
        tables=[
            (len(part), [(change, [_cell(change, field) for field in fields]) for change in part[:MAX_SHOWN]])
            for part in (changes, unchanged)
        ],
        max_shown=MAX_SHOWN,
    )


def _lines(request: HttpRequest, upload: Upload, table: Table | None = None) -> list[Line]:
    """Return the lines of the file, or of its table if that was read, at most one more than the limit."""
    rows = (row for row in table.all) if table else None
    found = checked_lines(BytesIO(upload.content), upload.kind, ColumnMapping.stored(upload.mapping), rows)
    lines = [*islice(found, MAX_COUNTED + 1)]
    for line in lines:
        # The creator of a new pet is the user who imports it, not the creator that the file names.
        line.values["created_by"] = creator.of_staff(request.user.get_username())
    return lines


def _cell(change: RowChange, field: str) -> str:
    """Return the value of a field for the preview, after its old value if it changes."""
    if field == "created_at":
        return moment((change.before or change.after).created_at)
    before, after = getattr(change.before, field, None) or "", getattr(change.after, field) or ""
    if change.before is None or before == after:
        return after
    return format_html("<del>{}</del> <ins>{}</ins>", before, after)


def confirmation_view(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Import the previewed file once, or show a new preview if the pets have changed since."""
    if request.method != "POST":  # the login page redirects here without the form
        messages.warning(request, "Nothing was imported. Upload the file again.")
        return redirect("admin:pets_pet_import")
    pk = request.POST.get("upload", "")
    upload = _uploads(request).filter(pk=pk).first() if is_id(pk) else None
    if upload:
        lines = _lines(request, upload)
        try:
            with transaction.atomic():
                # If the form is sent twice, the second request waits here for the first, and then deletes nothing.
                if Upload.objects.filter(pk=upload.pk).delete()[0]:
                    _import(model_admin, request, upload, lines)
                    return redirect("admin:pets_pet_changelist")
        except StaleError as error:
            messages.warning(request, f"Nothing was imported, because {error}")
            return _preview(request, upload)
    messages.warning(
        request,
        "This preview is no longer valid: the file was already imported, you opened a newer preview, or this one has "
        "expired. Check the list of pets before you upload it again.",
    )
    return redirect("admin:pets_pet_changelist")


def _import(model_admin: ModelAdmin, request: HttpRequest, upload: Upload, lines: list[Line]) -> None:
    """Import a previewed file in the current transaction, record that, and tell the user. Raises StaleError."""
    digest = upload.content_digest
    is_locked, last = ImportedFile.lock(digest), ImportedFile.last(digest)
    # The form has the last import before its preview. Times would not do, because an import ends long after its own.
    if not is_locked or request.POST.get("imported", "") != (str(last.pk) if last else ""):
        raise StaleError(
            "the same file was imported after you opened the preview, or is being imported now. Confirm the new "
            "preview only if you want to import it again."
        )
    done = import_diff.apply(lines, digest=upload.digest)
    changes = [
        change_of(
            # Not `after` of a changed pet, which on PostgreSQL has got the time of the sale after the import.
            change.before or change.after,
            {name: getattr(change.before, name) for name in change.changed_fields} if change.before else None,
            {name: getattr(change.after, name) for name in (change.changed_fields if change.before else EDITABLE)},
        )
        for change in done
        if change.kind != "skip"
    ]
    ImportedFile.objects.create(
        digest=digest, imported_by=request.user.get_username(), count=len(changes), mapping=upload.mapping
    )
    totals = Counter(change.kind for change in done)
    added, changed, unchanged = (totals[kind] for kind in ("new", "update", "skip"))
    text = f"{count_of_pets(added)} added, {changed:,} changed"
    message = f"Imported: {text}, {unchanged:,} unchanged."
    if changes:
        event = add_event_of_change(request, Event.Kind.IMPORTED, f"Import: {text}.", changes, "pets.add_pet", EDIT)
        message = with_undo(model_admin, request, message, event)
    messages.success(request, message)


def _uploads(request: HttpRequest) -> QuerySet[Upload]:
    """Return the uploads of the user that have not expired."""
    return Upload.objects.filter(owner_id=request.user.pk, created_at__gt=timezone.now() - Upload.LIFETIME)


def _page(request: HttpRequest, name: str = "import", title: str = "Import pets", /, **context: Any) -> HttpResponse:
    context |= {"opts": Pet._meta, "columns": ", ".join(COLUMNS[:-1])}
    return staff_page(request, f"admin/pets/pet/{name}.html", title, context)


def _errors_page(request: HttpRequest, upload: Upload, errors: list[tuple[int, str]]) -> HttpResponse:
    """Show the form for a file below the errors of a file, of which nothing was imported."""
    shown, has_more = errors[:MAX_ERRORS], len(errors) > MAX_ERRORS
    return _page(request, form=UploadForm(), errors=shown, has_more_errors=has_more, rejected=upload)
