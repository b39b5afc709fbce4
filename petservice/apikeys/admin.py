"""The admin's pages of API keys: create, inspect, rotate and revoke."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from petservice.apikeys import keys
from petservice.apikeys.filters import StateFilter, UseFilter
from petservice.apikeys.forms import KeyForm, NewKeyForm, RotateForm
from petservice.apikeys.models import APIKey


def _day(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d}" if time else "never"


def _keys(number: int) -> str:
    return "1 API key" if number == 1 else f"{number:,} API keys"


@admin.register(APIKey)
class APIKeyAdmin(admin.ModelAdmin):
    """Create, inspect, rotate and revoke keys. Records are kept: none is deleted, and a revoked one stays as it is."""

    list_display = ("name", "prefix", "access", "state", "created", "expires", "last_used")  # the prefix tells where
    list_filter = (StateFilter, UseFilter, "environment", "access")
    search_fields = ("name", "prefix__startswith")
    search_help_text = "Part of the name, or the beginning of a key."
    search_length = keys.PREFIX_LENGTH  # a whole key that is pasted in gets into no address
    actions = ("revoke_selected",)
    show_full_result_count = False
    list_select_related = ("created_by",)
    readonly_fields = (
        "prefix",
        "environment",
        "access",
        "state",
        "created_by",
        "created_at",
        "revoked_at",
        "last_used_at",
    )
    fields = ("name", *readonly_fields[:4], "expires_at", "requests_per_minute", *readonly_fields[4:])
    add_fields = ("name", "environment", "access", "expires_at", "requests_per_minute", "submission")
    form = KeyForm
    change_form_template = "admin/apikeys/apikey/change_form.html"

    @admin.display(description="state")
    def state(self, api_key: APIKey) -> str:
        return str(api_key.state(timezone.now()).label)

    @admin.display(description="created", ordering="created_at")
    def created(self, api_key: APIKey) -> str:
        return _day(api_key.created_at)

    @admin.display(description="expires", ordering="expires_at")
    def expires(self, api_key: APIKey) -> str:
        return _day(api_key.expires_at)

    @admin.display(description="last used", ordering="last_used_at")
    def last_used(self, api_key: APIKey) -> str:
        return _day(api_key.last_used_at)

    # Who may do what.

    def has_change_permission(self, request: HttpRequest, obj: APIKey | None = None) -> bool:
        return super().has_change_permission(request, obj) and not (obj and obj.is_revoked)

    def has_delete_permission(self, request: HttpRequest, obj: APIKey | None = None) -> bool:
        return False

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        if not self.has_view_or_change_permission(request):  # Django looks first whether there is such a key, and tells
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

    # Adding: another form, and an answer that shows the key.

    def get_fields(self, request: HttpRequest, obj: APIKey | None = None) -> Any:
        return self.fields if obj else self.add_fields

    def get_readonly_fields(self, request: HttpRequest, obj: APIKey | None = None) -> Any:
        return self.readonly_fields if obj else ()

    def get_form(self, request: HttpRequest, obj: APIKey | None = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change, **({} if obj else {"form": NewKeyForm}) | kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and db_field.name == "expires_at":
            for widget, part in zip(field.widget.widgets, ("Day", "Time"), strict=True):
                widget.attrs["aria-label"] = f"{part} of expiry"  # the label that is seen belongs to neither
        return field

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"environment": settings.ENVIRONMENT}  # and nothing that an address says

    @sensitive_variables("plain")
    def save_model(self, request: HttpRequest, obj: APIKey, form: Any, change: bool) -> None:
        if not change:
            plain = keys.generate(obj.environment)
            obj.submission = form.cleaned_data["submission"]
            obj.prefix, obj.digest, obj.created_by = keys.prefix(plain), keys.digest(plain), request.user  # type: ignore[assignment]  # staff
            # For the answer to this very request. Django's messages would put it into a readable cookie.
            request.plain_key = plain  # type: ignore[attr-defined]  # ours
        super().save_model(request, obj, form, change)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):  # before a look at what the form has made
            raise PermissionDenied
        return self._once(request, lambda: super(APIKeyAdmin, self).add_view(request, form_url, extra_context))

    def _once(self, request: HttpRequest, make: Callable[[], HttpResponse]) -> HttpResponse:
        """What `make` answers, unless this form has made a key before: that is not shown a second time."""
        made = self._made_with(request)
        if made is None:
            try:
                with transaction.atomic():
                    return make()
            except IntegrityError:  # it has been sent twice at once
                made = self._made_with(request)
                if made is None:
                    raise
        message = f"This form has made the key {made} already, and it is shown only once. If it is lost, rotate it."
        self.message_user(request, message, messages.WARNING)
        return HttpResponseRedirect(reverse("admin:apikeys_apikey_change", args=[made.pk]))

    def _made_with(self, request: HttpRequest) -> APIKey | None:
        submission = request.POST.get("submission", "")
        try:
            return APIKey.objects.filter(submission=UUID(submission)).first()
        except ValueError:
            return None  # what the form will refuse

    def response_add(self, request: HttpRequest, obj: APIKey, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_once(request, obj, request.plain_key)  # type: ignore[attr-defined]  # set by save_model

    @method_decorator(never_cache)
    @sensitive_variables("plain")
    def _show_once(self, request: HttpRequest, api_key: APIKey, plain: str) -> HttpResponse:
        """The one page that holds the key, kept by no cache, linked by no address."""
        context = self.admin_site.each_context(request) | {
            "title": "API key created",
            "opts": self.opts,
            "api_key": api_key,
            "plain": plain,
            "example": f"curl -H 'X-API-Key: {plain}' {request.build_absolute_uri(reverse('pets'))}",
        }
        response = TemplateResponse(request, "admin/apikeys/apikey/created.html", context)
        response.render()  # now, so that the key is in no later stage's hands
        return response

    # Searching with the whole key.

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[APIKey], search_term: str) -> Any:
        if search_term.startswith("pets_"):
            search_term = keys.prefix(search_term)
        return super().get_search_results(request, queryset, search_term)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """What the filters use: other conditions would tell the digest bit by bit, and fail for a broken expression."""
        return lookup in ("state", "use", "environment__exact", "access__exact")

    # Ending a key.

    @admin.action(description="Revoke selected API keys", permissions=["change"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[APIKey]) -> HttpResponse | None:
        """Asks whether to revoke the selected keys, and does."""
        unrevoked = [api_key for api_key in queryset if not api_key.is_revoked]
        if unrevoked and "confirmed" not in request.POST:
            return self._confirmation(request, unrevoked, "revoke", form=None)
        for api_key in unrevoked:
            self._revoke(request, api_key)
        self.message_user(request, f"Revoked {_keys(len(unrevoked))}.", messages.SUCCESS)
        return None

    def _revoke(self, request: HttpRequest, api_key: APIKey) -> None:
        api_key.revoke()
        self.log_change(request, api_key, "Revoked.")

    def get_urls(self) -> list[URLPattern]:
        return [
            path("<int:pk>/revoke/", self.admin_site.admin_view(self.revoke_view), name="apikeys_apikey_revoke"),
            path("<int:pk>/rotate/", self.admin_site.admin_view(self.rotate_view), name="apikeys_apikey_rotate"),
            *super().get_urls(),
        ]

    def revoke_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Asks whether to revoke one key, and does."""
        api_key = self._changeable(request, pk)
        if api_key is None or request.method == "POST":
            if api_key is not None:
                self._revoke(request, api_key)
                self.message_user(request, f"Revoked {api_key}.", messages.SUCCESS)
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))
        return self._confirmation(request, [api_key], "revoke", form=None)

    def rotate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Asks for the overlap, makes a successor, and shows its key."""
        api_key = self._changeable(request, pk)
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = RotateForm(request.POST or None)
        if api_key is None:
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))
        if request.method == "POST" and form.is_valid():
            return self._once(request, lambda: self._rotate(request, api_key, form))
        return self._confirmation(request, [api_key], "rotate", form=form)

    def _rotate(self, request: HttpRequest, api_key: APIKey, form: forms.Form) -> HttpResponse:
        try:
            successor, plain = api_key.rotate(created_by=request.user, **form.cleaned_data)
        except ValueError as error:
            form.add_error(None, str(error))
            return self._confirmation(request, [api_key], "rotate", form=form)
        self.log_change(request, api_key, f"Rotated: {successor} follows.")
        self.log_addition(request, successor, f"Follows {api_key}.")
        return self._show_once(request, successor, plain)

    def _changeable(self, request: HttpRequest, pk: int) -> APIKey | None:
        """The key, if it is there and not revoked; a message to the user if not."""
        api_key: APIKey | None = self.get_object(request, str(pk))
        if not self.has_change_permission(request):
            raise PermissionDenied
        if api_key is None or api_key.is_revoked:
            self.message_user(request, "There is no such API key, or it is revoked already.", messages.WARNING)
            return None
        return api_key

    def _confirmation(
        self, request: HttpRequest, api_keys: list[APIKey], verb: str, form: forms.Form | None
    ) -> HttpResponse:
        what = str(api_keys[0]) if len(api_keys) == 1 else _keys(len(api_keys))
        context = self.admin_site.each_context(request) | {
            "title": f"{verb.capitalize()} {what}?",
            "opts": self.opts,
            "api_key": api_keys[0],
            "api_keys": api_keys,
            "is_selection": "action" in request.POST,
            "verb": verb,
            "form": form,
        }
        return TemplateResponse(request, "admin/apikeys/apikey/confirmation.html", context)
