"""The filters that staff save under a name, as links above the lists of pets."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.urls import URLPattern, path, reverse

from pets.admin.filters import PARAMETERS
from pets.admin.ordering import order_of
from pets.models import SavedFilter


class SavedFilterForm(forms.ModelForm):
    """A form for the name and the query string of a filter, which keeps only the parameters of lists."""

    class Meta:
        model = SavedFilter
        fields = ("name", "query")
        error_messages = {
            "name": {
                "required": "Type a name for the filter.",
                "max_length": "The name of a filter has at most 60 characters.",
            },
            "query": {"required": "The list has no search and no filter. Choose one first."},
        }

    def __init__(self, data: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__({"name": data.get("name"), "query": kept(QueryDict(data.get("query", "")))}, *args, **kwargs)


def kept(query: QueryDict) -> str:
    """Return the search, the filters and the order of a query string, without empty ones and other parameters.

    The parameters have a fixed order. An order alone is no filter. An order by the number of a column is dropped,
    because the number depends on the permissions of the user.
    """
    values = {name: query.get(name, "").replace("\0", "") for name in (SEARCH_VAR, *PARAMETERS)}
    # The blanks around a tag are part of it.
    found = {name: value if name == "tag" else value.strip() for name, value in values.items() if value.strip()}
    order = order_of(query.get(ORDER_VAR, ""))
    return urlencode(found | {ORDER_VAR: order.parameter} if found and order else found)


class SavedFilters(admin.ModelAdmin):
    """A mixin with the pages that save and remove the filters of an account."""

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        own = [
            path(f"filters/{verb}/", self.admin_site.admin_view(view), name=f"{name}_{verb}_filter")
            for verb, view in (("save", self.save_filter_view), ("remove", self.remove_filter_view))
        ]
        return [*own, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        context = getattr(response, "context_data", None)
        if context and "cl" in context:
            cl, query = context["cl"], request.GET.copy()
            query[ORDER_VAR] = "" if cl.order == cl.usual_order else cl.order.parameter
            cl.query_to_save = kept(query)
            cl.saved_filters = [(saved, _order_in_words(saved)) for saved in _filters_of(request)]
            cl.save_filter_url = self._url("save_filter")
            cl.remove_filter_url = self._url("remove_filter")
        return response

    def save_filter_view(self, request: HttpRequest) -> HttpResponse:
        """Save the search, the filters and the order of a list under a name."""
        if refusal := self._refusal(request):
            return refusal
        form = SavedFilterForm(request.POST)
        if form.is_valid():
            self._save(request, form.cleaned_data["name"], form.cleaned_data["query"])
        else:
            for errors in form.errors.values():
                self._error(request, " ".join(map(str, errors)))
        return self._back(form.data["query"])

    def _save(self, request: HttpRequest, name: str, query: str) -> None:
        defaults = {"query": query, "owner_id": request.user.pk}
        try:
            with transaction.atomic():
                saved, is_new = _filters_of(request).get_or_create(name=name, defaults=defaults)
        except IntegrityError:  # the account was deleted in the meantime
            raise PermissionDenied from None
        if saved.query != query:
            self._error(request, f"You have another filter named “{name}”. Choose another name, or remove that filter.")
        elif is_new and _filters_of(request).count() > SavedFilter.MAX_NUMBER:
            saved.delete()
            self._error(request, f"You have {SavedFilter.MAX_NUMBER} filters already. Remove one first.")
        else:
            self.message_user(request, f"The filter “{name}” is saved. It is a link above the list.", messages.SUCCESS)

    def remove_filter_view(self, request: HttpRequest) -> HttpResponse:
        """Remove a saved filter of the user."""
        if refusal := self._refusal(request):
            return refusal
        saved = next((one for one in _filters_of(request) if str(one.pk) == request.POST.get("filter")), None)
        if saved is None:
            self.message_user(request, "This filter is removed already.", messages.INFO)
        else:
            saved.delete()
            self.message_user(request, f"The filter “{saved}” is removed. No pet was changed.", messages.SUCCESS)
        return self._back(kept(QueryDict(request.POST.get("query", ""))))

    def _refusal(self, request: HttpRequest) -> HttpResponse | None:
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            return None
        # The login page redirects here without the form.
        return self._back("") if request.method == "GET" else HttpResponseNotAllowed(["POST"])

    def _error(self, request: HttpRequest, text: str) -> None:
        self.message_user(request, f"{text} Nothing was saved.", messages.ERROR)

    def _back(self, query: str) -> HttpResponse:
        url = self._url("changelist")
        return HttpResponseRedirect(f"{url}?{query}" if query else url)

    def _url(self, name: str) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}")


def _filters_of(request: HttpRequest) -> Any:
    return SavedFilter.objects.filter(owner_id=request.user.pk).order_by("name", "pk")


def _order_in_words(saved: SavedFilter) -> str:
    order = order_of(QueryDict(saved.query).get(ORDER_VAR, ""))
    return order.title if order else ""
