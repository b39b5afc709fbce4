"""The admin views of the life of an API key: it is created once and shown once, rotated and revoked."""

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from petservice.admin_pages.created_once import CreatedOnce
from petservice.admin_pages.staff_page import staff_page
from petservice.apikeys import keys, usage_display
from petservice.apikeys.forms import RotateForm
from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from petservice.journal.pages import JournalPages
from petservice.journal.recording import Change, record
from petservice.time_zone import moment

# Maximum number of keys that one entry in the audit names.
MAX_NAMED = 20


def _count_of_keys(number: int) -> str:
    return "1 API key" if number == 1 else f"{number:,} API keys"


class KeyViews(CreatedOnce, JournalPages):
    """A part of the admin of API keys, which creates keys once and shows them once, and revokes and rotates them."""

    addition_kind, change_kind = Event.Kind.KEY_CREATED, Event.Kind.KEY_CHANGED
    form_lookup = "form_token"
    already_created = (
        "This form was already submitted and created the API key {created}. A key is shown only once. "
        "If you did not copy it, rotate the key."
    )

    actions = ("revoke_selected",)

    # Creating and showing a key.

    @sensitive_variables("plain")
    def save_model(self, request: HttpRequest, obj: APIKey, form: Any, change: bool) -> None:
        if not change:
            obj.environment = settings.ENVIRONMENT
            plain = keys.generate(obj.environment)
            obj.form_token = form.cleaned_data["form_token"]
            obj.prefix, obj.digest, obj.created_by = keys.prefix(plain), keys.digest(plain), request.user  # type: ignore[assignment]  # staff
            # For the response to this request. Django's messages would store the key in a readable cookie.
            request.plain_key = plain  # type: ignore[attr-defined]  # our own attribute
        super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: APIKey, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_once(request, obj, request.plain_key)  # type: ignore[attr-defined]  # set by save_model

    @sensitive_variables("plain")
    def _show_once(self, request: HttpRequest, api_key: APIKey, plain: str) -> HttpResponse:
        """Return the only page that shows the key. It has no URL of its own and is not cached."""
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

    @admin.action(description="Revoke selected API keys", permissions=["change"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[APIKey]) -> HttpResponse | None:
        """Ask for confirmation, then revoke the selected keys."""
        unrevoked = [api_key for api_key in queryset if not api_key.is_revoked]
        is_confirmed = request.method == "POST" and ("confirmed" in request.POST or "action" not in request.POST)
        if unrevoked and not is_confirmed:
            return self._confirmation(request, unrevoked, "revoke", form=None)
        revoked = self._revoke(request, unrevoked)
        if revoked:
            what = str(revoked[0]) if len(revoked) == 1 else _count_of_keys(len(revoked))
            self.message_user(request, f"Revoked {what}.", messages.SUCCESS)
        else:
            message = "No API key was revoked: the selected ones are revoked already, or do not exist."
            self.message_user(request, message, messages.WARNING)
        return None

    @transaction.atomic
    def _revoke(self, request: HttpRequest, api_keys: list[APIKey]) -> list[APIKey]:
        """Revoke keys, record it, and return those that no one else has revoked at the same time."""
        # In the order of ids, as all writers that lock several keys.
        revoked = [api_key for api_key in sorted(api_keys, key=lambda one: one.pk) if api_key.revoke()]
        if revoked:
            names = ", ".join(map(str, revoked[:MAX_NAMED])) + ("…" if len(revoked) > MAX_NAMED else "")
            message = "" if len(revoked) == 1 else f"{names}."
            changes = [Change(str(one.pk), str(one), message="Revoked.") for one in revoked]
            record(request, Event.Kind.KEY_REVOKED, target=APIKey, message=message, changes=changes)
        return revoked

    def get_urls(self) -> list[URLPattern]:
        return [
            path("<int:pk>/revoke/", self.admin_site.admin_view(self.revoke_view), name="apikeys_apikey_revoke"),
            path("<int:pk>/rotate/", self.admin_site.admin_view(self.rotate_view), name="apikeys_apikey_rotate"),
            *super().get_urls(),
        ]

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        obj: APIKey | None = context.get("original")
        if obj is None:
            # Each button would lead to the page that shows the key.
            context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        else:
            now = timezone.now()
            if self._may_rotate(request) and obj.reason_against_rotation() is None:
                context["rotate_label"] = "Rotate" if obj.works(now) else "Create a replacement"
            context["usage"] = usage_display.last_days(obj, now.date())
            context["last_use"] = usage_display.last_use(obj, now)
        return super().render_change_form(request, context, *args, **kwargs)

    def revoke_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for confirmation, then revoke one key."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        question = self.revoke_selected(request, self.get_queryset(request).filter(pk=pk))
        return question or HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))

    def rotate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for the expiry and the grace period, then create a replacement and show its key."""
        api_key: APIKey | None = self.get_object(request, str(pk))
        if not self._may_rotate(request):
            raise PermissionDenied
        if api_key is None:
            self.message_user(request, "This API key does not exist.", messages.WARNING)
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))
        now = timezone.now()
        if request.method != "POST" and (reason := api_key.reason_against_rotation()):
            return self.back_to(request, api_key, f"{reason} Nothing was changed.")
        form = RotateForm(api_key, now, request.POST or None)
        if request.method == "POST" and form.is_valid():
            return self.create_once(request, lambda: self._rotate(request, api_key, form))
        return self._rotate_page(request, api_key, form)

    def _may_rotate(self, request: HttpRequest) -> bool:
        # Also a revoked key, which nobody may change otherwise.
        return self.has_add_permission(request) and self.has_change_permission(request)

    def _rotate_page(self, request: HttpRequest, api_key: APIKey, form: RotateForm) -> HttpResponse:
        verb = "rotate" if api_key.works(form.now) else "replace"
        return self._confirmation(request, [api_key], verb, form=form)

    def _rotate(self, request: HttpRequest, api_key: APIKey, form: RotateForm) -> HttpResponse:
        try:
            chosen = {name: form.cleaned_data[name] for name in ("expires_at", "form_token")}
            grace_period = form.cleaned_data.get("grace_period", timedelta(0))
            replacement, plain = api_key.rotate(
                **chosen, grace_period=grace_period, created_by=request.user, now=form.now
            )
        except ValueError as error:
            form.add_error(None, str(error))
            return self._rotate_page(request, api_key, form)
        works, until = api_key.works(form.now), api_key.expires_at
        end = f"The old key works until {moment(until)}." if works and until else "The old key does not work any more."
        message = f"Replaced by {replacement}. {end} New key: {replacement.summary()}"
        changes = [
            Change(str(api_key.pk), str(api_key), message=f"Rotated. Replaced by {replacement}."),
            Change(str(replacement.pk), str(replacement), message=f"Created as replacement for {api_key}."),
        ]
        record(request, Event.Kind.KEY_ROTATED, target=APIKey, message=message, changes=changes, count=1)
        return self._show_once(request, replacement, plain)

    def _confirmation(
        self, request: HttpRequest, api_keys: list[APIKey], verb: str, form: forms.Form | None
    ) -> HttpResponse:
        subject = str(api_keys[0]) if len(api_keys) == 1 else _count_of_keys(len(api_keys))
        context = {
            "opts": self.opts,
            "api_key": api_keys[0],
            "api_keys": api_keys,
            "uses": [(one, usage_display.last_use(one, timezone.now())) for one in api_keys],
            "is_selection": "action" in request.POST,
            "verb": verb,
            "form": form,
        }
        title = f"{verb.capitalize()} {subject}?"
        return staff_page(request, "admin/apikeys/apikey/confirmation.html", title, context)
