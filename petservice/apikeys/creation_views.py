"""The admin views that create an API key once, and show it once."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from petservice.admin_pages.change_message import change_message
from petservice.apikeys import keys
from petservice.apikeys.models import APIKey
from petservice.audit.models import AuditEntry
from petservice.audit.recording import record


class CreationViews(admin.ModelAdmin):
    """A part of the admin of API keys, which creates keys and shows them."""

    @sensitive_variables("plain")
    def save_model(self, request: HttpRequest, obj: APIKey, form: Any, change: bool) -> None:
        if not change:
            plain = keys.generate(obj.environment)
            obj.form_token = form.cleaned_data["form_token"]
            obj.prefix, obj.digest, obj.created_by = keys.prefix(plain), keys.digest(plain), request.user  # type: ignore[assignment]  # staff
            # For the response to this request. Django's messages would store the key in a readable cookie.
            request.plain_key = plain  # type: ignore[attr-defined]  # our own attribute
        super().save_model(request, obj, form, change)
        if change:
            if form.changed_data:
                record(request, AuditEntry.Kind.KEY_CHANGED, target=obj, message=change_message(form))
            return
        record(request, AuditEntry.Kind.KEY_CREATED, target=obj, message=obj.summary())
        old_key: APIKey | None = form.cleaned_data.get("replaces")
        if old_key is not None:
            old_key.replaced_by = obj
            old_key.save(update_fields=["replaced_by"])
            self.log_change(request, old_key, f"Replaced by {obj}.")
            record(request, AuditEntry.Kind.KEY_CHANGED, target=old_key, message=f"Replaced by {obj}.")

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):  # checked before the message that names the created key
            raise PermissionDenied
        return self.create_once(request, lambda: super(CreationViews, self).add_view(request, form_url, extra_context))

    def create_once(self, request: HttpRequest, create: Callable[[], HttpResponse]) -> HttpResponse:
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
        old_key = APIKey.objects.filter(replaced_by=obj).first()
        return self.show_once(request, obj, request.plain_key, old_key)  # type: ignore[attr-defined]  # set by save_model

    @method_decorator(never_cache)
    @sensitive_variables("plain")
    def show_once(
        self, request: HttpRequest, api_key: APIKey, plain: str, old_key: APIKey | None = None
    ) -> HttpResponse:
        """Return the only page that shows the key. It has no URL of its own and is not cached."""
        context = self.admin_site.each_context(request) | {
            "title": "API key created",
            "opts": self.opts,
            "api_key": api_key,
            "plain": plain,
            "environment": settings.ENVIRONMENT,
            "old_key": old_key,
            "old_key_works": old_key is not None and not (old_key.is_revoked or old_key.is_expired(timezone.now())),
            "example": f"curl -H 'X-API-Key: {plain}' {request.build_absolute_uri(reverse('pets'))}",
        }
        response = TemplateResponse(request, "admin/apikeys/apikey/created.html", context)
        response.render()  # immediately, so that no middleware receives the key in the context
        return response
