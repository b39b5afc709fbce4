"""The admin site: Django's admin with a dashboard as its first page."""

from functools import wraps
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.messages.middleware import MessageMiddleware
from django.core.exceptions import BadRequest, FieldDoesNotExist, PermissionDenied, ValidationError
from django.db import DataError, IntegrityError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.safestring import mark_safe
from psycopg.errors import DeadlockDetected

from petservice.admin_pages.mixins import AdministratorsOnly
from petservice.admin_pages.staff_page import staff_page
from petservice.backoffice import dashboard
from petservice.guides.rendering import ADMIN_GUIDE, guide
from petservice.sign_in import second_factor_view
from petservice.sign_in.login_view import KeptFormLoginView, page_before
from petservice.sign_in.password_change import OwnPasswordView

# The apps of the menu in the order of their use. All others are under *Advanced*.
_MENU = ("pets", "apikeys", "accounts", "journal")
# The errors of values that no form has validated. SQLite overflows where PostgreSQL has an error of the data.
_INVALID = (ValidationError, DataError, OverflowError, FieldDoesNotExist)

# Maximum number of times that a request is tried that other writers make fail.
_MAX_TRIES = 3


class PetServiceAdminSite(admin.AdminSite):
    """The admin site of this service."""

    site_title = site_header = "Pet service"
    empty_value_display = mark_safe('<span class="nothing">—</span>')
    index_title = "Dashboard"  # as breadcrumbs and the menu call it
    index_template = "backoffice/index.html"

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Wrap an admin view so that the login comes first, and a recent login or a second factor where it is required.

        An invalid value in the URL or in a selected row is a bad request. An action that the account does not have is
        refused. A request that fails because another one has just written the same, or by a deadlock with it, is tried
        again, and finds it then. It has three tries, because after a deadlock the other one may still be writing.
        """
        name: str = getattr(view, "__name__", "")
        model_admin: Any = getattr(view, "__self__", None)

        @wraps(view)
        def with_checks(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            # Django looks for a record before it checks the permission, so its history would reveal which ids exist.
            is_checked = name == "history_view" or isinstance(model_admin, AdministratorsOnly)
            if is_checked and not model_admin.has_view_or_change_permission(request):
                raise PermissionDenied
            try:
                if name == "changelist_view":
                    action = request.POST.get("action")
                    for key in request.POST.getlist(ACTION_CHECKBOX_NAME):
                        model_admin.opts.pk.to_python(key)  # raises ValidationError where Django's query would crash
                    # Django would show the list again without a message, for example after the loss of the permission.
                    if action and action not in model_admin.get_actions(request):
                        raise PermissionDenied
                for _ in range(_MAX_TRIES - 1):
                    try:
                        return view(request, *args, **kwargs)
                    except (IntegrityError, OperationalError) as error:  # which has rolled the view's transaction back
                        if not isinstance(error, IntegrityError) and not isinstance(error.__cause__, DeadlockDetected):
                            raise
                    MessageMiddleware(view).process_request(request)  # without the messages of what was rolled back
                return view(request, *args, **kwargs)
            except _INVALID as error:
                raise BadRequest("The request contains an invalid value.") from error

        # An attribute of the admins of API keys, accounts and groups.
        needs_recent_login = getattr(model_admin, "needs_recent_login", False)
        for_staff = super().admin_view(with_checks, cacheable)

        @wraps(for_staff)
        def with_entrance(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            return page_before(request, needs_recent_login=needs_recent_login) or for_staff(request, *args, **kwargs)

        return with_entrance

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method == "GET" and self.has_permission(request):
            return redirect("admin:index")
        return KeptFormLoginView.as_view()(request)

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method in ("GET", "HEAD"):  # a typed URL; only the button, which sends POST, logs out
            return redirect("admin:index")
        return super().logout(request, extra_context)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return OwnPasswordView.as_view(extra_context=self.each_context(request))(request)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return the apps and their models for the menu, the most used first."""
        apps = super().get_app_list(request, app_label)
        return sorted(apps, key=lambda app: _MENU.index(app["app_label"]) if app["app_label"] in _MENU else len(_MENU))

    def get_urls(self) -> list[Any]:
        return [
            path("help/", self.admin_view(self.help), name="help"),
            path("second-factor/", self.admin_view(second_factor_view.second_factor), name="second_factor"),
            *super().get_urls(),
        ]

    def help(self, request: HttpRequest) -> HttpResponse:
        """Show the guide for staff."""
        shown = guide(ADMIN_GUIDE)
        return staff_page(request, "backoffice/help.html", shown.title, {"guide": shown})

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        return super().index(request, {"dashboard": dashboard.sections(self, request), **(extra_context or {})})

    def app_index(self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Redirect to the dashboard, because staff know lists, not apps. No link leads here."""
        return redirect("admin:index")
