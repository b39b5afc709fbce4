"""The admin views that revoke and rotate API keys."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from petservice.apikeys.creation_views import CreationViews
from petservice.apikeys.forms import RotateForm
from petservice.apikeys.models import APIKey


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

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: APIKey | None = None,
    ) -> Any:
        may_rotate = self.has_add_permission(request)
        context["can_rotate"] = may_rotate and obj is not None and obj.can_be_rotated(timezone.now())
        return super().render_change_form(request, context, add, change, form_url, obj)

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
        """Ask for the expiry and the grace period, then create a replacement and show its key."""
        api_key = self._changeable(request, pk)
        if not self.has_add_permission(request):
            raise PermissionDenied
        if api_key is None:
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))
        form = RotateForm(api_key, timezone.now(), request.POST or None)
        if request.method == "POST" and form.is_valid():
            return self.create_once(request, lambda: self._rotate(request, api_key, form))
        return self._confirmation(request, [api_key], "rotate", form=form)

    def _rotate(self, request: HttpRequest, api_key: APIKey, form: forms.Form) -> HttpResponse:
        try:
            replacement, plain = api_key.rotate(created_by=request.user, **form.cleaned_data)
        except ValueError as error:
            form.add_error(None, str(error))
            return self._confirmation(request, [api_key], "rotate", form=form)
        self.log_change(request, api_key, f"Rotated. Replaced by {replacement}.")
        self.log_addition(request, replacement, f"Created as replacement for {api_key}.")
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
            "is_selection": "action" in request.POST,
            "verb": verb,
            "form": form,
        }
        return TemplateResponse(request, "admin/apikeys/apikey/confirmation.html", context)
