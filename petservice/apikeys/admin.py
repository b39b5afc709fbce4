"""The admin pages of API keys: create, view, change, rotate and revoke."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Case, DateTimeField, QuerySet, Value, When
from django.forms import Script
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from petservice.admin_pages.bounded_search import BoundedSearch
from petservice.admin_pages.change_message import change_message
from petservice.admin_pages.facts_beside import FactsBeside
from petservice.admin_pages.relative_time import relative
from petservice.admin_pages.states import ShownStates, filter_by
from petservice.apikeys import keys
from petservice.apikeys.forms import ExpiryField, KeyForm, NewKeyForm
from petservice.apikeys.key_views import KeyViews
from petservice.apikeys.models import APIKey
from petservice.sign_in.reauthentication import ReauthenticatedChanges
from petservice.time_zone import day_of


def _relative(time: datetime | None) -> str:
    return relative(time, timezone.now()) if time else "never"


@admin.register(APIKey)
class APIKeyAdmin(FactsBeside, BoundedSearch, ShownStates, ReauthenticatedChanges, KeyViews):
    """The admin pages of API keys, where no key can be deleted and a revoked key cannot be changed."""

    empty_list = "There are no API keys yet, so no client can call the API."
    show_facets = admin.ShowFacets.ALWAYS
    list_display = ("key", "state", "access", "created", "expires", "last_used")
    states = APIKey.State
    list_filter = (filter_by("state", APIKey.State), filter_by("use", APIKey.Use), "environment", "access")
    allowed_lookups = ("state", "use", "environment__exact", "access__exact")
    search_fields = ("name",)
    search_help_text = f"Search by name, or paste an API key (only its first {keys.PREFIX_LENGTH} characters are used)."
    search_length = keys.PREFIX_LENGTH  # limits the input, so that a pasted key does not get into the URL
    list_select_related = ("created_by",)
    readonly_fields = ("prefix", "environment", "access", "state", "creator", "created_at", "revoked_at")
    add_fields = (
        "name",
        "access",
        "lifetime",
        "expires_at",
        "requests_per_minute",
        "form_token",
    )
    form = KeyForm
    formfield_overrides = {DateTimeField: {"form_class": ExpiryField, "widget": ExpiryField.widget}}

    class Media:
        css = {"all": ("apikeys/keys.css",)}
        js = (Script("apikeys/clock.js", defer=True),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[APIKey]:
        now = timezone.now()
        state = Case(*(When(APIKey.in_state(one, now), then=Value(one)) for one in APIKey.State))
        use = Case(*(When(APIKey.in_use(one, now), then=Value(one)) for one in APIKey.Use))
        api_keys: QuerySet[APIKey] = super().get_queryset(request)
        return api_keys.annotate(state=state, use=use)

    @admin.display(description="name", ordering="name")
    def key(self, api_key: APIKey) -> str:
        """Return the name with the prefix, because several keys may have one name. It also shows the environment."""
        return format_html('{} <span class="key-prefix">{}…</span>', api_key.name, api_key.prefix)

    @admin.display(description="replaces")
    def old_key(self, api_key: APIKey) -> str:
        old_key = api_key.replaces
        return format_html('<a href="{}">{}</a>', reverse("admin:apikeys_apikey_change", args=[old_key.pk]), old_key)

    @admin.display(description="created by")
    def creator(self, api_key: APIKey) -> str:
        """Return the account without a link, because most staff may not view accounts."""
        return str(api_key.created_by or "-")

    @admin.display(description="created", ordering="created_at")
    def created(self, api_key: APIKey) -> str:
        return day_of(api_key.created_at)

    @admin.display(description="expires", ordering="expires_at")
    def expires(self, api_key: APIKey) -> str:
        return _relative(api_key.expires_at)

    @admin.display(description="last used", ordering="last_used_at")
    def last_used(self, api_key: APIKey) -> str:
        return _relative(api_key.last_used_at)

    # Permissions.

    def has_change_permission(self, request: HttpRequest, obj: APIKey | None = None) -> bool:
        return super().has_change_permission(request, obj) and not (obj and obj.is_revoked)

    def has_delete_permission(self, request: HttpRequest, obj: APIKey | None = None) -> bool:
        return False

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        return form.instance.summary() if add else change_message(form)

    # Adding a key, with another form, and a response that shows the key.

    def get_fields(self, request: HttpRequest, obj: APIKey | None = None) -> Any:
        if obj is None:
            return self.add_fields
        replacements = ["replaced_by"] * (obj.replaced_by_id is not None) + ["old_key"] * hasattr(obj, "replaces")
        fixed, dates = self.readonly_fields[:4], self.readonly_fields[4:]
        return ["name", *fixed, *replacements, "expires_at", "requests_per_minute", *dates]

    def get_readonly_fields(self, request: HttpRequest, obj: APIKey | None = None) -> Any:
        return (*self.readonly_fields, "replaced_by", "old_key") if obj else ()

    def get_form(self, request: HttpRequest, obj: APIKey | None = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is None:
            kwargs.setdefault("form", NewKeyForm)
        return super().get_form(request, obj, change, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        # The URL sets no field.
        return {"access": APIKey.Access.READ_ONLY}

    # Searching by a pasted key.

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[APIKey], search_term: str) -> Any:
        with_prefix = queryset.filter(prefix__startswith=keys.prefix(search_term))
        if search_term.startswith("pets_") and with_prefix.exists():
            return with_prefix, False
        return super().get_search_results(request, queryset, search_term)
