"""The admin pages of API keys: create, view, change, rotate and revoke."""

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


def _count_of_keys(number: int) -> str:
    return "1 API key" if number == 1 else f"{number:,} API keys"


@admin.register(APIKey)
class APIKeyAdmin(admin.ModelAdmin):
    """The admin pages of API keys, where no key can be deleted and a revoked key cannot be changed."""

    list_display = (
        "name",
        "prefix",
        "access",
        "state",
        "created",
        "expires",
        "last_used",
    )  # the prefix shows the environment
    list_filter = (StateFilter, UseFilter, "environment", "access")
    search_fields = ("name", "prefix__startswith")
    search_help_text = f"Search by name, or paste an API key (only its first {keys.PREFIX_LENGTH} characters are used)."
    search_length = keys.PREFIX_LENGTH  # limits the input, so that a pasted key does not get into the URL
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
    add_fields = ("name", "environment", "access", "expires_at", "requests_per_minute", "form_token")
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

    # Permissions.

    def has_change_permission(self, request: HttpRequest, obj: APIKey | None = None) -> bool:
        return super().has_change_permission(request, obj) and not (obj and obj.is_revoked)

    def has_delete_permission(self, request: HttpRequest, obj: APIKey | None = None) -> bool:
        return False

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        # Checked first, because Django would reveal which keys exist.
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

    # Adding a key, with another form, and a response that shows the key.

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
                widget.attrs["aria-label"] = f"{part} of expiry"  # the visible label belongs to neither input
        return field

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"environment": settings.ENVIRONMENT}  # the URL sets no other field

    @sensitive_variables("plain")
    def save_model(self, request: HttpRequest, obj: APIKey, form: Any, change: bool) -> None:
        if not change:
            plain = keys.generate(obj.environment)
            obj.form_token = form.cleaned_data["form_token"]
            obj.prefix, obj.digest, obj.created_by = keys.prefix(plain), keys.digest(plain), request.user  # type: ignore[assignment]  # staff
            # For the response to this request. Django's messages would store the key in a readable cookie.
            request.plain_key = plain  # type: ignore[attr-defined]  # our own attribute
        super().save_model(request, obj, form, change)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):  # checked before the message that names the created key
            raise PermissionDenied
        return self._create_once(request, lambda: super(APIKeyAdmin, self).add_view(request, form_url, extra_context))

    def _create_once(self, request: HttpRequest, create: Callable[[], HttpResponse]) -> HttpResponse:
        """Return the response of `create`, or redirect to the key that this form has already created."""
        created = self._created_by_form(request)
        if created is None:
            try:
                with transaction.atomic():
                    return create()
            except IntegrityError:  # the form was sent twice at the same time
                created = self._created_by_form(request)
                if created is None:
                    raise
        message = (
            f"This form was already submitted and created the API key {created}. A key is shown only once. "
            "If you did not copy it, rotate the key."
        )
        self.message_user(request, message, messages.WARNING)
        return HttpResponseRedirect(reverse("admin:apikeys_apikey_change", args=[created.pk]))

    def _created_by_form(self, request: HttpRequest) -> APIKey | None:
        form_token = request.POST.get("form_token", "")
        try:
            return APIKey.objects.filter(form_token=UUID(form_token)).first()
        except ValueError:
            return None  # the form will reject this token

    def response_add(self, request: HttpRequest, obj: APIKey, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_once(request, obj, request.plain_key)  # type: ignore[attr-defined]  # set by save_model

    @method_decorator(never_cache)
    @sensitive_variables("plain")
    def _show_once(self, request: HttpRequest, api_key: APIKey, plain: str) -> HttpResponse:
        """Return the only page that shows the key. It has no URL of its own and is not cached."""
        context = self.admin_site.each_context(request) | {
            "title": "API key created",
            "opts": self.opts,
            "api_key": api_key,
            "plain": plain,
            "example": f"curl -H 'X-API-Key: {plain}' {request.build_absolute_uri(reverse('pets'))}",
        }
        response = TemplateResponse(request, "admin/apikeys/apikey/created.html", context)
        response.render()  # immediately, so that no middleware receives the key in the context
        return response

    # Searching by a pasted key.

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[APIKey], search_term: str) -> Any:
        if search_term.startswith("pets_"):
            search_term = keys.prefix(search_term)
        return super().get_search_results(request, queryset, search_term)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow only the conditions of the filters.

        Conditions on the digest would reveal it bit by bit, and an invalid regular expression would be an error.
        """
        return lookup in ("state", "use", "environment__exact", "access__exact")

    # Revoking and rotating.

    @admin.action(description="Revoke selected API keys", permissions=["change"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[APIKey]) -> HttpResponse | None:
        """Ask for confirmation, then revoke the selected keys."""
        unrevoked = [api_key for api_key in queryset if not api_key.is_revoked]
        if not unrevoked:
            message = "None of the selected keys could be revoked: they are revoked already."
            self.message_user(request, message, messages.WARNING)
            return None
        if "confirmed" not in request.POST:
            return self._confirmation(request, unrevoked, "revoke", form=None)
        for api_key in unrevoked:
            self._revoke(request, api_key)
        self.message_user(request, f"Revoked {_count_of_keys(len(unrevoked))}.", messages.SUCCESS)
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
        """Ask for confirmation, then revoke one key."""
        api_key = self._changeable(request, pk)
        if api_key is None or request.method == "POST":
            if api_key is not None:
                self._revoke(request, api_key)
                self.message_user(request, f"Revoked {api_key}.", messages.SUCCESS)
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))
        return self._confirmation(request, [api_key], "revoke", form=None)

    def rotate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for the grace period, then create a replacement and show its key."""
        api_key = self._changeable(request, pk)
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = RotateForm(request.POST or None)
        if api_key is None:
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))
        if request.method == "POST" and form.is_valid():
            return self._create_once(request, lambda: self._rotate(request, api_key, form))
        return self._confirmation(request, [api_key], "rotate", form=form)

    def _rotate(self, request: HttpRequest, api_key: APIKey, form: forms.Form) -> HttpResponse:
        try:
            replacement, plain = api_key.rotate(created_by=request.user, **form.cleaned_data)
        except ValueError as error:
            form.add_error(None, str(error))
            return self._confirmation(request, [api_key], "rotate", form=form)
        self.log_change(request, api_key, f"Rotated. Replaced by {replacement}.")
        self.log_addition(request, replacement, f"Created as replacement for {api_key}.")
        return self._show_once(request, replacement, plain)

    def _changeable(self, request: HttpRequest, pk: int) -> APIKey | None:
        """Return the key, or show a message and return None if it does not exist or is revoked."""
        api_key: APIKey | None = self.get_object(request, str(pk))
        if not self.has_change_permission(request):
            raise PermissionDenied
        if api_key is None or api_key.is_revoked:
            self.message_user(request, "This API key does not exist or is already revoked.", messages.WARNING)
            return None
        return api_key

    def _confirmation(
        self, request: HttpRequest, api_keys: list[APIKey], verb: str, form: forms.Form | None
    ) -> HttpResponse:
        subject = str(api_keys[0]) if len(api_keys) == 1 else _count_of_keys(len(api_keys))
        context = self.admin_site.each_context(request) | {
            "title": f"{verb.capitalize()} {subject}?",
            "opts": self.opts,
            "api_key": api_keys[0],
            "api_keys": api_keys,
            "is_selection": "action" in request.POST,
            "verb": verb,
            "form": form,
        }
        return TemplateResponse(request, "admin/apikeys/apikey/confirmation.html", context)
