"""The admin pages of staff accounts: those of Django, except that an account with a change history is not deleted."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from petservice.change_message import change_message
from petservice.sign_in import logins

admin.site.unregister(get_user_model())


@admin.register(get_user_model())
class AccountAdmin(UserAdmin):
    """The admin pages of accounts, which protect the change history.

    Django would delete the history of an account together with the account.
    """

    change_form_template = "admin/auth/user/change_form.html"

    def get_urls(self) -> list[URLPattern]:
        unlock = self.admin_site.admin_view(self.unlock_view)
        return [path("<int:pk>/unlock/", unlock, name="auth_user_unlock"), *super().get_urls()]

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> Any:
        context["is_locked"] = obj is not None and logins.is_locked(obj.get_username())
        return super().render_change_form(request, context, add, change, form_url, obj)

    def unlock_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for confirmation, then unlock an account that is locked after failed logins."""
        user = self.get_object(request, str(pk))
        if not self.has_change_permission(request, user):
            raise PermissionDenied
        if user is None:
            raise Http404
        if request.method != "POST" and logins.is_locked(user.get_username()):
            context = self.admin_site.each_context(request) | {
                "title": f"Unlock {user}?",
                "opts": self.opts,
                "original": user,
            }
            return TemplateResponse(request, "admin/auth/user/unlock.html", context)
        if request.method == "POST" and self._unlock(request, user):
            self.message_user(request, f"{user} is unlocked and can log in again.", messages.SUCCESS)
        else:
            self.message_user(request, f"{user} is not locked.", messages.WARNING)
        return HttpResponseRedirect(reverse("admin:auth_user_change", args=[pk]))

    def _unlock(self, request: HttpRequest, user: Any) -> bool:
        was_locked = logins.unlock(user.get_username())
        if was_locked:
            self.log_change(request, user, "Unlocked.")
        return was_locked

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Change the password of an account, and unlock the account, so that the new password works immediately."""
        response: HttpResponse = super().user_change_password(request, id, form_url)
        saved_url = reverse("admin:auth_user_change", args=[id])
        if isinstance(response, HttpResponseRedirect) and response.url == saved_url:
            self._unlock(request, self.get_object(request, id))
        return response

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        return super().construct_change_message(request, form, formsets, add) if add else change_message(form)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Return what a deletion would delete, with one line for each protected change history.

        The entries of the history are left out, because they can name API keys that the viewer may not see.
        """
        changed_by = LogEntry.objects.filter(user__in=[user.pk for user in objs]).order_by("user__username")
        names = changed_by.values_list("user__username", flat=True).distinct()
        protected = [
            f"Change history of {name}. Accounts with a change history cannot be deleted. "
            "Clear “Active” on the account's page instead."
            for name in names
        ]
        if protected:
            return [], {}, set(), protected
        return super().get_deleted_objects(objs, request)
