"""The admin pages of API keys, which list, create, change, rotate and revoke keys, and show each plain key once."""

from contextlib import nullcontext
from datetime import date, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html

from petservice.admin_pages.created_once import CreatedOnce
from petservice.admin_pages.mixins import AccessPages, BoundedSearch, FactsBeside, filter_by
from petservice.admin_pages.staff_page import staff_page
from petservice.admin_pages.wording import relative
from petservice.apikeys import keys
from petservice.apikeys.forms import KeyForm, NewKeyForm, RotateForm
from petservice.apikeys.models import USAGE_DAYS, APIKey, KeyDay
from petservice.configuration.time_zone import day_of, moment
from petservice.journal.models import Event
from petservice.journal.record_pages import JournalPages
from petservice.journal.recording import Change, add_event


def last_days(api_key: APIKey, today: date) -> dict[str, Any]:
    """Return the use of a key on the last days up to today, oldest first, as numbers and as a chart, for a template."""
    first = today - timedelta(days=USAGE_DAYS - 1)
    stored = {row.day: row for row in KeyDay.objects.filter(api_key=api_key, day__gte=first, day__lte=today)}
    dates = [first + timedelta(days=number) for number in range(USAGE_DAYS)]
    days = [stored.get(day) or KeyDay(day=day) for day in dates]
    rows = [
        [{"day": one.day, "count": one.requests, "text": str(one), "part": one.client_errors + one.server_errors}]
        for one in days
    ]
    sums = {name: sum(getattr(one, name) for one in days) for name in ("requests", "client_errors", "server_errors")}
    return {"rows": rows, "largest": max(one.requests for one in days), "days": days} | sums


@admin.register(APIKey)
class APIKeyAdmin(FactsBeside, BoundedSearch, AccessPages, CreatedOnce, JournalPages):
    """The admin pages of API keys, where no key can be deleted and a revoked key cannot be changed."""

    form = KeyForm
    empty_list = "There are no API keys yet, so no client can call the API."
    list_display = ("key", "state", "access", "created", "expires", "last_used")
    list_filter = (filter_by("state", APIKey.State), filter_by("use", APIKey.Use), "environment", "access")
    search_fields = ("name",)
    search_help_text = f"Search by name, or paste an API key (only its first {keys.PREFIX_LENGTH} characters are used)."
    search_length = keys.PREFIX_LENGTH  # limits the input, so that a pasted key does not get into the URL
    _facts, _dates = ("prefix", "environment", "access", "state"), ("creator", "created_at", "revoked_at")
    readonly_fields = (*_facts, *_dates, "replaced_by", "replaces")
    change_kind = Event.Kind.KEY_CHANGED
    form_lookup = "form_token"
    already_created = (
        "This form was already submitted and created the API key {created}. A key is shown only once. "
        "If you did not copy it, rotate the key, or create another one."
    )

    class Media:
        css = {"all": ("apikeys/keys.css",)}
        js = (forms.Script("apikeys/clock.js", defer=True),)

    def get_urls(self) -> list[URLPattern]:
        return [
            path("<int:pk>/revoke/", self.admin_site.admin_view(self.revoke_view), name="apikeys_apikey_revoke"),
            path("<int:pk>/rotate/", self.admin_site.admin_view(self.rotate_view), name="apikeys_apikey_rotate"),
            *super().get_urls(),
        ]

    # The list and its columns.

    def get_queryset(self, request: HttpRequest) -> QuerySet[APIKey]:
        return APIKey.objects.with_states(timezone.now())

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[APIKey], search_term: str) -> Any:
        with_prefix = queryset.filter(prefix__startswith=keys.prefix(search_term))
        if search_term.startswith("pets_") and with_prefix.exists():  # a pasted key
            return with_prefix, False
        return super().get_search_results(request, queryset, search_term)

    @admin.display(description="name", ordering="name")
    def key(self, api_key: APIKey) -> str:
        """Return the name with the prefix, because several keys may have one name. It also shows the environment."""
        return format_html('{} <span class="key-prefix">{}…</span>', api_key.name, api_key.prefix)

    @admin.display(description="created by")
    def creator(self, api_key: APIKey) -> str:
        """Return the account without a link, because most staff may not view accounts."""
        return str(api_key.created_by or self.get_empty_value_display())

    @admin.display(description="created", ordering="created_at")
    def created(self, api_key: APIKey) -> str:
        return day_of(api_key.created_at)

    @admin.display(description="expires", ordering="expires_at")
    def expires(self, api_key: APIKey) -> str:
        return relative(api_key.expires_at, timezone.now())

    @admin.display(description="last used", ordering="last_used_at")
    def last_used(self, api_key: APIKey) -> str:
        return relative(api_key.last_used_at, timezone.now())

    # The page of a key.

    def has_change_permission(self, request: HttpRequest, obj: APIKey | None = None) -> bool:
        return super().has_change_permission(request, obj) and not (obj and obj.is_revoked)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        replacements = ["replaced_by"] * (obj.replaced_by_id is not None) + ["replaces"] * hasattr(obj, "replaces")
        return ["name", *self._facts, *replacements, "expires_at", "requests_per_minute", *self._dates]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        without_redis = () if settings.REDIS_URL else ("requests_per_minute",)
        expired = ("expires_at",) if obj.is_expired(timezone.now()) else ()
        return (*self.readonly_fields, *without_redis, *expired)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        obj, now = context["original"], timezone.now()
        if self._may_rotate(request) and obj.replaced_by_id is None:
            context["rotate_label"] = "Rotate" if obj.works(now) else "Create a replacement"
        context |= {"usage": last_days(obj, now.date()), "last_used": self.last_used(obj)}
        return super().render_change_form(request, context, *args, **kwargs)

    # Creating and showing a key.

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """Create a key, or show the page of one as Django does."""
        if object_id is not None:
            # Django would say that the user lacks a permission.
            with transaction.atomic() if request.method == "POST" else nullcontext():
                api_key = self.get_object(request, object_id) if request.method == "POST" else None
                if api_key and api_key.is_revoked and self.has_change_permission(request):
                    return self._already_revoked(request, api_key)
                return super().changeform_view(request, object_id, form_url, extra_context)
        form = NewKeyForm(request.POST or None)
        if not form.is_valid():
            return self._form_page(request, "Add API key", "Save", form=form)
        api_key, plain = APIKey.objects.create_key(**form.cleaned_data, created_by=request.user)
        add_event(request, Event.Kind.KEY_CREATED, target=api_key, message=f"Created. {api_key.summary()}")
        return self._show_once(request, api_key, plain)

    def _show_once(self, request: HttpRequest, api_key: APIKey, plain: str) -> HttpResponse:
        """Return the only page that shows the key. It has no URL of its own and is not cached.

        Django's messages would store the key in a readable cookie.
        """
        old_key = APIKey.objects.filter(replaced_by=api_key).first()
        context = {
            "opts": self.opts,
            "api_key": api_key,
            "plain": plain,
            "environment": settings.ENVIRONMENT,
            "old_key": old_key,
            "old_key_works": old_key is not None and old_key.works(timezone.now()),
            "example": f"curl -H 'X-API-Key: {plain}' {request.build_absolute_uri(reverse('pets'))}",
        }
        return staff_page(request, "admin/apikeys/apikey/created.html", "API key created", context)

    # Revoking and rotating, after a confirmation.

    def revoke_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for confirmation, then revoke a key."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        api_key = get_object_or_404(APIKey, pk=pk)
        if request.method != "POST" and not api_key.is_revoked:
            last_used = self.last_used(api_key)
            return self._form_page(request, f"Revoke {api_key}?", "Revoke", api_key=api_key, last_used=last_used)
        with transaction.atomic():
            if not api_key.revoke():
                return self._already_revoked(request, api_key)
            add_event(request, Event.Kind.KEY_REVOKED, target=api_key, message="Revoked.")
        self.message_user(request, f"Revoked {api_key}.", messages.SUCCESS)
        return redirect("admin:apikeys_apikey_changelist")

    def _already_revoked(self, request: HttpRequest, api_key: Any) -> HttpResponse:
        text = f"This key was revoked on {moment(api_key.revoked_at)}. Nothing was changed."
        return self.back_to(request, api_key, text)

    def rotate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for the expiry and the grace period, then create a replacement and show its key."""
        if not self._may_rotate(request):
            raise PermissionDenied
        with transaction.atomic() if request.method == "POST" else nullcontext():
            api_key = self.get_object(request, str(pk))  # locked if the form is sent
            if api_key is None:
                raise Http404
            if new_key := api_key.replaced_by:
                text = f"Nothing was changed: {api_key} was already replaced by {new_key}."
                return self.back_to(request, new_key, f"{text} A key is shown only once; if it is lost, rotate it.")
            form = RotateForm(api_key, request.POST or None)
            if not form.is_valid():
                verb = "Rotate" if api_key.works(form.now) else "Replace"
                return self._form_page(request, f"{verb} {api_key}?", verb, api_key=api_key, form=form)
            replacement, plain = api_key.rotate(**form.cleaned_data, created_by=request.user, now=form.now)
            until = api_key.expires_at if api_key.works(form.now) else None
            end = f"works until {moment(until)}" if until else "does not work any more"
            message = f"{api_key} replaced by {replacement}. The old key {end}. New key: {replacement.summary()}"
            changes = [Change(str(key.pk), str(key)) for key in (api_key, replacement)]
            add_event(request, Event.Kind.KEY_ROTATED, target=APIKey, message=message, changes=changes, count=1)
            return self._show_once(request, replacement, plain)

    def _may_rotate(self, request: HttpRequest) -> bool:
        # Also a revoked key, which nobody may change otherwise.
        return self.has_add_permission(request) and self.has_change_permission(request)

    def _form_page(self, request: HttpRequest, title: str, button: str, **context: Any) -> HttpResponse:
        context |= {"opts": self.opts, "button": button}
        return staff_page(request, "admin/apikeys/apikey/form.html", title, context)
