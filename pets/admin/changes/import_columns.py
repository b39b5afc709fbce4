"""The pages of the admin that upload a file of pets, and ask what its columns mean, if they are not those of pets."""

from dataclasses import asdict, replace
from itertools import islice
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from pets.admin.changes import import_pages
from pets.admin.changes.column_form import ColumnForm, proposal
from pets.admin.lists.export_page import MAX_ROWS
from pets.files.csv_rows import ENCODINGS
from pets.files.mapping import OWN, ColumnMapping
from pets.files.rows import BrokenFileError, is_utf_16
from pets.files.table import Table
from pets.files.workbook import sheet_names
from pets.models import Upload

# Maximum number of columns that the page shows.
_MAX_COLUMNS = 60
# Maximum number of lines that show how a file looks in an encoding.
_MAX_LINES = 3


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
        return list(islice((line for line in content.splitlines() if not line.isascii()), _MAX_LINES))
    return []


def _read(upload: Upload, mapping: ColumnMapping, data: Any) -> tuple[Table, ColumnForm]:
    """Return the table, and the form of its questions. Raises BrokenFileError if answers would be of no use."""
    table = Table(upload.open(), upload.kind, mapping, MAX_ROWS + 1)
    if len(table.rows) > MAX_ROWS:
        raise BrokenFileError(0, import_pages.TOO_MANY)
    if not (table.rows or table.errors):
        raise BrokenFileError(0, import_pages.NO_PETS)
    if not table.is_own and len(table.filled) > _MAX_COLUMNS:
        problem = f"{len(table.filled)} columns: delete all but the name, tag, status and day of creation of the pets."
        raise BrokenFileError(table.number, problem)
    if table.errors and not table.is_own:
        raise BrokenFileError(*table.errors[0])
    return table, ColumnForm(table, proposal(table, mapping), data)


def upload_view(pages: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show the form for a file, and then the questions about the file, its preview or its errors."""
    import_pages.require_permission(pages, request)
    form = import_pages.UploadForm(request.POST or None, request.FILES or None)
    if not form.is_valid():
        return import_pages.page(pages, request, form=form)
    file = form.cleaned_data["file"]
    upload = Upload(kind=import_pages.format_of(file) or "", content=file.read())
    upload.owner = request.user  # type: ignore[assignment]  # staff are never anonymous
    if not upload.fits():
        form.add_error(
            "file",
            "Too many files of other accounts are waiting for their confirmation. Try again later, or ask your "
            "administrator to use the import_pets command.",
        )
        return import_pages.page(pages, request, form=form)
    show = import_pages.preview if upload.kind == "jsonl" else _questions_or_preview
    return show(pages, request, upload)


def columns_view(pages: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show the questions about the table that the user has uploaded last, and then its preview."""
    import_pages.require_permission(pages, request)
    uploads = Upload.objects.filter(owner_id=request.user.pk, created_at__gt=timezone.now() - Upload.LIFETIME)
    upload = uploads.exclude(kind="jsonl").order_by("created_at").last()
    if upload is None or request.POST.get("file", upload.content_digest) != upload.content_digest:
        messages.warning(request, "Nothing was imported, because this file is gone or replaced. Upload it again.")
        return HttpResponseRedirect(reverse("admin:pets_pet_import"))
    return _questions_or_preview(pages, request, upload, request.POST.dict())


def _questions_or_preview(pages: ModelAdmin, request: HttpRequest, upload: Upload, answers: Any = None) -> HttpResponse:
    """Show the questions about a table, or its preview if nothing is to be asked, or its errors."""
    mapping, errors, form, source = ColumnMapping(**upload.mapping or {}), [], None, None
    try:
        source = SourceForm(upload, mapping, answers or None)
        asks = request.method == "GET" or not (answers or all(getattr(mapping, name) for name in source.fields))
        if "sheet" in source.fields:
            mapping = replace(mapping, sheet=mapping.sheet or source["sheet"].initial)
        if source.is_valid() and source.cleaned_data != {name: getattr(mapping, name) for name in source.fields}:
            mapping, answers = ColumnMapping(**source.cleaned_data), None
        if "encoding" not in source.fields or mapping.encoding:
            table, form = _read(upload, mapping, answers)
            if form.is_valid() or not (form.has_questions or asks):
                mapping = form.mapping if form.is_bound else mapping
                upload.mapping = None if mapping == OWN else asdict(mapping)
                return import_pages.preview(pages, request, upload, table)
    except BrokenFileError as error:
        if not (source and source.fields):  # else another sheet or encoding may be right
            return import_pages.errors_page(pages, request, [(error.line, error.problem)])
        errors = [(error.line, error.problem)]
    if request.method == "POST" and not answers:  # so that the button Back of the browser works
        upload.mapping = asdict(mapping)
        upload.keep(digest="")
        return HttpResponseRedirect(reverse("admin:pets_pet_import_columns"))
    context = pages.admin_site.each_context(request) | {
        "title": "Which column is what?",
        "opts": pages.opts,
        "source": source,
        "form": form,
        "errors": errors,
        "upload": upload,
    }
    return TemplateResponse(request, "admin/pets/pet/import_columns.html", context)
