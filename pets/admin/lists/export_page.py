"""The pages of the admin that hand over a list of pets: as a file, and on one page for paper."""

from codecs import BOM_UTF8
from typing import Any

from django import forms
from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.main import SEARCH_VAR
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify

from pets.files.rows import EXPORTED
from pets.files.writing import XLSX, exported_workbook, write
from pets.models import Pet
from pets.models.pet import count_of_pets
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.admin_pages.staff_page import staff_page
from petservice.journal.models import Event
from petservice.journal.recording import add_event

# Maximum number of pets on the page for paper: about 20 sheets.
MAX_PRINTED = 1000
# Without the creator, which may contain the prefix of an API key.
_COLUMNS = [column for column in EXPORTED if column != "created_by"]
# Maximum number of characters of a file's name that come from the filters.
_MAX_NAME = 60

_TOO_MANY = (
    f"The list has more than {MAX_COUNTED:,} pets. Filter it, or ask your administrator to use the export_pets command."
)


class FormatForm(forms.Form):
    """A form to choose the format of the file."""

    format = forms.ChoiceField(choices=[("csv", "CSV"), ("xlsx", "Workbook (.xlsx), without IDs"), ("json", "JSON")])


def export_view(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show the form, and then send the file of the listed pets, without their creators."""
    changelist: Any = model_admin.get_changelist_instance(request)
    form = FormatForm(request.POST or None)
    obstacle = "" if changelist.can_select_all else _TOO_MANY
    if changelist.filter_form.errors:
        obstacle = "A filter of the list is invalid: correct it in the list first."
    if form.is_valid() and not obstacle:
        rows = [*changelist.queryset.values_list(*_COLUMNS, named=True)]
        file_format = form.cleaned_data["format"]
        # If the audit cannot be written, nothing is exported.
        message = f"Exported as {file_format.upper()}. Filter: {changelist.in_words or 'none'}."
        add_event(request, Event.Kind.EXPORTED, target=Pet, message=message, count=len(rows))
        # The name of the file is made of the search, the tag and the status of the list.
        words = " ".join(request.GET.get(name, "") for name in (SEARCH_VAR, "tag", "status__exact"))
        name = slugify(words, allow_unicode=True)[:_MAX_NAME] or "pets"
        return _file(rows, file_format, f"{name}-{timezone.localdate()}")
    context = {
        "opts": model_admin.opts,
        "form": form,
        "pets": count_of_pets(changelist.result_count),
        "filters": changelist.in_words,
        "obstacle": obstacle,
    }
    return staff_page(request, "admin/pets/pet/export.html", "Export pets", context)


def _file(rows: list[Any], file_format: str, name: str) -> HttpResponse:
    if file_format == "csv":
        content, content_type = BOM_UTF8 + b"".join(write(rows, "csv", _COLUMNS)), "text/csv"
    elif file_format == "xlsx":
        content, content_type = exported_workbook(rows, _COLUMNS[1:]), XLSX
    else:  # an array with one pet per line
        lines = b",\n".join(line.rstrip() for line in write(rows, "jsonl", _COLUMNS))
        content, content_type = b"[\n" + lines + b"\n]\n", "application/json"
    disposition = content_disposition_header(True, f"{name}.{file_format}")
    return HttpResponse(content, content_type=content_type, headers={"Content-Disposition": disposition})


def print_view(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show the pets of a list on one page, without the parts that only a screen needs."""
    changelist: Any = model_admin.get_changelist_instance(request)
    context = {
        "opts": model_admin.opts,
        "pets": changelist.queryset[:MAX_PRINTED],
        "count": count_of_pets(changelist.result_count),
        "is_cut": changelist.result_count > MAX_PRINTED,
        "max_printed": MAX_PRINTED,
        "filters": changelist.in_words,
        "list_query": changelist.get_query_string(),
    }
    return staff_page(request, "admin/pets/pet/print.html", "Pets", context)
