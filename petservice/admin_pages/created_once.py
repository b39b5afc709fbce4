"""Pages of the admin that create something only once for each form."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect


class FormOnce(forms.Form):
    """A form with a token, which lets it create something only once.

    A double click, a reload or the Back button can send the same form again.
    """

    form_token = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


class CreatedOnce(admin.ModelAdmin):
    """A mixin of pages that create nothing if a form is sent again."""

    # The lookup of the record for which a form has created something, by the token of the form.
    form_lookup: str
    # The message for a form that is sent again. It contains {created}.
    already_created: str

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):  # checked before the message that names the record
            raise PermissionDenied
        add = super().add_view
        return self.create_once(request, lambda: add(request, form_url, extra_context))

    def create_once(self, request: HttpRequest, create: Callable[[], HttpResponse]) -> HttpResponse:
        """Return the response of `create`, or redirect to the record if this form was already sent.

        If another request saves the same form meanwhile, this one is repeated, and then finds the record.
        """
        if request.method != "POST":
            return create()  # without a transaction, which on SQLite would wait for other writers
        with transaction.atomic():  # in which `created_by_form` may lock something until the end
            try:
                form_token = UUID(request.POST.get("form_token", "").strip())
            except ValueError:
                return create()  # the form will reject this token
            created = self.created_by_form(request, form_token)
            if created is None:
                return create()
            return self.back_to(request, created, self.already_created.format(created=created))

    def back_to(self, request: HttpRequest, record: Any, message: str, level: int = messages.WARNING) -> HttpResponse:
        """Redirect to the page of a record, which shows the message, or to the dashboard if the user may not see it."""
        self.message_user(request, message, level)
        if not self.has_view_or_change_permission(request):
            return redirect("admin:index")
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", record.pk)

    def created_by_form(self, request: HttpRequest, form_token: UUID) -> Any:
        """Return the record for which a form has created something, or None."""
        return self.model._default_manager.filter(**{self.form_lookup: form_token}).first()
