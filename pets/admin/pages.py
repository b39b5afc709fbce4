"""The pages of pets in the admin."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.db.models import CharField
from django.forms import Script
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from pets import creator
from pets.admin.changes.actions import STATUS_ACTIONS, delete_selected, set_tag
from pets.admin.changes.forms import NewPetForm, PetForm, add_all, added_by_form, deleted_meanwhile, save_edit
from pets.admin.changes.import_pages import columns_view, confirmation_view, upload_view
from pets.admin.changes.selection import checkbox
from pets.admin.lists.changelist import PetChangeList, PetPaginator, SearchPaginator
from pets.admin.lists.columns import created, created_by_api, sold, status_badge, status_menu
from pets.admin.lists.export_page import export_view, print_view
from pets.admin.lists.saved_filters import saved_filters_view
from pets.admin.lists.sqlite_lists import SQLitePetChangeList
from pets.fields import EDITABLE, OPTIONAL_TEXTS
from pets.models import Pet
from pets.permissions import EDIT, may_import, may_see_list, may_see_pets, permission_to_change
from pets.search.tags import tags_starting_with
from petservice.admin_pages.created_once import CreatedOnce
from petservice.admin_pages.mixins import FactsBeside
from petservice.journal.record_pages import JournalPages


def tags_view(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Return tags that begin with the text in the filter, as JSON."""
    return JsonResponse({"suggestions": tags_starting_with(request.GET.get("q", ""))})


@admin.register(Pet)
class PetAdmin(CreatedOnce, FactsBeside, JournalPages):
    """The pages that list, add, edit, delete, import and export pets.

    Accounts with the permissions for the inventory alone see the same list, and change only statuses. Each list reads
    only a part of one index; see pets.admin.lists.
    """

    empty_list = "There are no pets yet. Clients add them through the API."
    already_created = "This form was sent already, and has added “{created}”."
    # A form that strips white space would change a client's text when staff edit another field.
    formfield_overrides: ClassVar[Any] = {CharField: {"strip": False}}
    search_help_text = "A full ID, or the start of any words."
    sortable_by: ClassVar[Any] = ("name", status_badge, status_menu, created, sold)
    list_per_page = 50
    show_full_result_count = False
    actions = [*STATUS_ACTIONS, set_tag, delete_selected]
    # Views by the last part of their URLs, and who may use each; a view gets this object and the request.
    views: ClassVar[Any] = {
        "tags": (tags_view, may_see_list),
        "saved_filters": (saved_filters_view, may_see_list),
        "import": (upload_view, may_import),
        "import_columns": (columns_view, may_import),
        "process_import": (confirmation_view, may_import),
        "export": (export_view, may_see_pets),
        "print": (print_view, may_see_pets),
    }

    class Media:
        css = {"all": ["pets/admin.css"]}
        js = ("pets/suggestions.js", Script("pets/place.js", defer=True), Script("backoffice/copy.js", defer=True))

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(f"{name}/", self.admin_site.admin_view(partial(self._view, *view)), name=f"pets_pet_{name}")
            for name, view in self.views.items()
        ]
        return [*own, *super().get_urls()]

    def _view(self, view: Callable[..., HttpResponse], may_use: Any, request: HttpRequest) -> HttpResponse:
        if not may_use(request.user):
            raise PermissionDenied
        return view(self, request)

    # Searching and filtering.

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[PetChangeList]:
        return SQLitePetChangeList if connection.vendor == "sqlite" else PetChangeList

    def get_paginator(self, request: HttpRequest, *arguments: Any, **options: Any) -> PetPaginator:
        paginator = SearchPaginator if request.GET.get(SEARCH_VAR) else PetPaginator
        return paginator(*arguments, **options)

    # Permissions.

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Leave the decision to the permissions below, which are not all of this app."""
        return True

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_see_list(request.user)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may change the statuses of pets."""
        return bool(request.user.has_perm(permission_to_change(request.user)))

    def has_edit_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may change the texts of pets as well."""
        return bool(request.user.has_perm(EDIT))

    # Columns and fields.

    action_checkbox: Any = staticmethod(checkbox)

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns. A status is a menu, or a badge if the user may not change it."""
        status = status_menu if self.has_change_permission(request) else status_badge
        return ("name", *OPTIONAL_TEXTS, status, created, sold, self._created_by(request), "history")

    def _created_by(self, request: HttpRequest) -> Any:
        """Return the column of the creator, which names an API key only to users with the permission to view keys."""
        return "created_by_key" if request.user.has_perm("apikeys.view_apikey") else created_by_api

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change, **{"form": PetForm if change else NewPetForm} | kwargs)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return (*EDITABLE, "form_token")
        return (*EDITABLE, "id", "created_at", "sold_at", self._created_by(request))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ()
        is_for_status = self.has_change_permission(request) and not self.has_edit_permission(request)
        editable = ("status",) if is_for_status else EDITABLE  # of which a viewer gets the values alone
        return [field for field in self.get_fields(request, obj) if field not in editable]

    @admin.display(description="created by")
    def created_by_key(self, pet: Pet) -> str:
        key_prefix, name = creator.parsed(pet.created_by)
        keys = reverse("admin:apikeys_apikey_changelist")
        return format_html('<a href="{}?q={}">{}</a>', keys, key_prefix, name) if key_prefix else name

    def history(self, pet: Pet) -> str:
        return format_html('<a href="{}/history/" aria-label="History of {}">History</a>', pet.pk, pet.name)

    # Additions and changes.

    created_by_form: Any = staticmethod(added_by_form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        with transaction.atomic() if request.method == "POST" else nullcontext():  # a form waits for a deletion
            may_see = self.has_view_or_change_permission(request)
            is_gone = may_see and self.get_object(request, object_id) is None
            response = deleted_meanwhile(request, object_id) if is_gone else None
            return response or super().change_view(request, object_id, form_url, extra_context)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            save_edit(self, request, obj, form)
        else:
            obj.created_by = creator.of_staff(request.user.get_username())
            add_all(self, request, obj, form)

    def log_addition(self, request: HttpRequest, obj: Pet, message: Any) -> Any:
        """Do nothing, because add_all and save_edit have recorded what save_model did."""

    log_change = log_addition

    def response_add(self, request: HttpRequest, obj: Pet, post_url_continue: str | None = None) -> HttpResponse:
        """Return the next page, which has a message already. A form for another pet keeps the tag and the status."""
        filters = QueryDict(self.get_preserved_filters(request))  # of the list, to which each page leads back
        if "_addanother" in request.POST:
            values = {"tag": obj.tag or "", "status": obj.status}
            return redirect(reverse("admin:pets_pet_add", query=values | filters.dict()))
        if "_continue" in request.POST:
            return redirect(reverse("admin:pets_pet_change", args=[obj.pk], query=filters))
        return self.response_post_save_change(request, obj)

    response_change: Any = response_add

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Ask as the action on many pets does, and move the pet into the trash when the form is sent."""
        if not self.has_delete_permission(request):
            raise PermissionDenied
        page = delete_selected(self, request, self.get_queryset(request).filter(pk=object_id))
        return page or self.response_post_save_change(request, None)
