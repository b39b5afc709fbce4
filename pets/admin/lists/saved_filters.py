"""The filters that staff save under a name, as links above the lists of pets."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse

from pets.admin.lists.filters import PARAMETERS
from pets.admin.lists.ordering import is_order
from pets.models import SavedFilter
from petservice.api.validators import is_integer


class SavedFilterForm(forms.ModelForm):
    """A form for the name and the query string of a filter."""

    class Meta:
        model = SavedFilter
        fields = ("name", "query", "is_shared")
        labels = {"query": "Filter"}
        error_messages = {"query": {"required": "The list has no search and no filter. Choose one first."}}


def kept(query: Mapping[str, Any]) -> str:
    """Return the search, the filters and the order of a query string, without empty ones and other parameters.

    The parameters have a fixed order. An order alone is no filter. An order by the number of a column is dropped,
    because the number depends on the permissions of the user.
    """
    values = {name: query.get(name, "").replace("\0", "").strip() for name in (SEARCH_VAR, *PARAMETERS)}
    found = {name: value for name, value in values.items() if value}
    order = query.get(ORDER_VAR, "")
    return urlencode(found | {ORDER_VAR: order} if found and is_order(order) else found)


def saved_filters_view(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Save the search, the filters and the order of a list under a name, or remove such a saved filter."""
    query = kept(QueryDict(request.POST.get("query", "")))
    if "filter" in request.POST:
        _remove(request)
    elif request.method == "POST":  # the login page redirects here without the form
        _save(request, query)
    return HttpResponseRedirect(reverse("admin:pets_pet_changelist", query=QueryDict(query)))


def _save(request: HttpRequest, query: str) -> None:
    form = SavedFilterForm(request.POST.dict() | {"query": query})
    if form.is_valid():
        name, is_shared = form.cleaned_data["name"], form.cleaned_data["is_shared"]
        found = {"query": query, "is_shared": is_shared}
        saved, _ = SavedFilter.objects.get_or_create(owner_id=request.user.pk, name=name, defaults=found)
        if saved.query != query:
            other = f"You have another filter named “{name}”."
            form.add_error("name", f"{other} Choose another name, or remove that filter.")
        else:
            SavedFilter.objects.filter(pk=saved.pk).update(is_shared=is_shared)
            whom = "For everybody, it is" if is_shared else "For you, it is"
            messages.success(request, f"The filter “{name}” is saved. {whom} a link above the list.")
    for name, errors in form.errors.items():
        messages.error(request, f"{form[name].label}: {' '.join(map(str, errors))} Nothing was saved.")


def _remove(request: HttpRequest) -> None:
    """Remove a saved filter of the user. Administrators remove those that others share, who may have left."""
    own = Q(owner_id=request.user.pk)
    removable = SavedFilter.objects.filter(own | Q(is_shared=True) if request.user.is_superuser else own)
    key = request.POST["filter"]
    saved = removable.filter(pk=key).first() if is_integer(key) else None
    if saved is None:
        messages.info(request, "This filter is removed already.")
    else:
        saved.delete()
        messages.success(request, f"The filter “{saved}” is removed. No pet was changed.")
