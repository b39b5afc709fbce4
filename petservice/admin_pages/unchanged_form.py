"""Pages that record nothing when a form is saved without a change, and say so."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect


class UnchangedForm(admin.ModelAdmin):
    """A mixin of pages whose forms make no entry in the history without a change, whose text is then empty."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        request.has_changes = bool(message)  # type: ignore[attr-defined]  # our own attribute
        return super().log_change(request, obj, message) if message else None

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        if request.has_changes:  # type: ignore[attr-defined]  # set by log_change
            return super().response_change(request, obj)
        self.message_user(request, f"You changed nothing, so {obj} is as before.", messages.INFO)
        if "_continue" in request.POST:
            return HttpResponseRedirect(request.get_full_path())
        return self.response_post_save_change(request, obj)
