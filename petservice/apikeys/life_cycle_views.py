"""The admin views that revoke and rotate API keys."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from petservice.apikeys import usage_display
from petservice.apikeys.creation_views import CreationViews
from petservice.apikeys.forms import RotateForm
from petservice.apikeys.models import APIKey
from petservice.audit.models import AuditEntry
from petservice.audit.recording import record
from petservice.time_zone import moment

# Maximum number of keys that one entry in the audit names.
MAX_NAMED = 20


def _count_of_keys(number: int) -> str:
    return "1 API key" if number == 1 else f"{number:,} API keys"


class LifeCycleViews(CreationViews):
    """A part of the admin of API keys, which revokes and rotates keys after a confirmation."""

    actions = ("revoke_selected",)

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
        revoked = self._revoke(request, unrevoked)
        self.message_user(request, f"Revoked {_count_of_keys(len(revoked))}.", messages.SUCCESS)
        return None

    @transaction.atomic
    def _revoke(self, request: HttpRequest, api_keys: list[APIKey]) -> list[APIKey]:
        """Revoke keys, record it, and return those that no one else has revoked at the same time."""
        # In the order of ids, as all writers that lock several keys.
        revoked = [api_key for api_key in sorted(api_keys, key=lambda one: one.pk) if api_key.revoke()]
        for api_key in revoked:
            self.log_change(request, api_key, "Revoked.")
        if revoked:
            target = revoked[0] if len(revoked) == 1 else None
            names = ", ".join(map(str, revoked[:MAX_NAMED])) + ("…" if len(revoked) > MAX_NAMED else "")
            message = "" if target else f"{names}."
            record(request, AuditEntry.Kind.KEY_REVOKED, target=target, message=message, count=len(revoked))
        return revoked

    def get_urls(self) -> list[URLPattern]:
        return [
            path("<int:pk>/revoke/", self.admin_site.admin_view(self.revoke_view), name="apikeys_apikey_revoke"),
            path("<int:pk>/rotate/", self.admin_site.admin_view(self.rotate_view), name="apikeys_apikey_rotate"),
            *super().get_urls(),
        ]

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: APIKey | None = None,
    ) -> Any:
        if obj is not None:
            now, may_add = timezone.now(), self.has_add_permission(request)
            context["can_rotate"] = may_add and obj.reason_against_rotation(now) is None
            if may_add and self.has_change_permission(request) and obj.can_get_replacement(now):
                context["replacement_url"] = f"{reverse('admin:apikeys_apikey_add')}?replaces={obj.pk}"
            context["usage"] = usage_display.read(obj, now.date())
            context["last_use"] = usage_display.last_use(obj, now)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def revoke_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for confirmation, then revoke one key."""
        api_key = self._changeable(request, pk)
        if api_key is None or request.method == "POST":
            if api_key is not None:
                is_revoked = self._revoke(request, [api_key])
                message = (
                    f"Revoked {api_key}." if is_revoked else f"{api_key} was already revoked. Nothing was changed."
                )
                self.message_user(request, message, messages.SUCCESS if is_revoked else messages.WARNING)
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))
        return self._confirmation(request, [api_key], "revoke", form=None)

    def rotate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for the expiry and the grace period, then create a replacement and show its key."""
        api_key = self._changeable(request, pk)
        if not self.has_add_permission(request):
            raise PermissionDenied
        if api_key is None:
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))
        now = timezone.now()
        if request.method != "POST" and (reason := api_key.reason_against_rotation(now)):
            self.message_user(request, f"{reason} Nothing was changed.", messages.WARNING)
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_change", args=[api_key.pk]))
        form = RotateForm(api_key, now, request.POST or None)
        if request.method == "POST" and form.is_valid():
            return self.create_once(request, lambda: self._rotate(request, api_key, form))
        return self._confirmation(request, [api_key], "rotate", form=form)

    def _rotate(self, request: HttpRequest, api_key: APIKey, form: RotateForm) -> HttpResponse:
        try:
            names = ("grace_period", "expires_at", "form_token")
            chosen = {name: form.cleaned_data[name] for name in names}
            replacement, plain = api_key.rotate(**chosen, created_by=request.user, now=form.now)
        except ValueError as error:
            form.add_error(None, str(error))
            return self._confirmation(request, [api_key], "rotate", form=form)
        self.log_change(request, api_key, f"Rotated. Replaced by {replacement}.")
        self.log_addition(request, replacement, f"Created as replacement for {api_key}.")
        end = f"The old key works until {moment(api_key.expires_at)}."  # type: ignore[arg-type]  # it has a grace period
        message = f"Replaced by {replacement}. {end} New key: {replacement.summary()}"
        record(request, AuditEntry.Kind.KEY_ROTATED, target=api_key, message=message)
        return self.show_once(request, replacement, plain, old_key=api_key)

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
            "uses": [(one, usage_display.last_use(one, timezone.now())) for one in api_keys],
            "is_selection": "action" in request.POST,
            "verb": verb,
            "form": form,
        }
        return TemplateResponse(request, "admin/apikeys/apikey/confirmation.html", context)
