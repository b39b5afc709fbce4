"""The admin that staff work in: Django's own, with a front page that shows how things stand."""

from functools import wraps
from typing import Any

from django.contrib import admin
from django.core.exceptions import BadRequest, FieldDoesNotExist, ValidationError
from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from petservice import guides
from petservice.backoffice import dashboard
from petservice.backoffice.logins import LoginForm, too_many_at_once


class BackOffice(admin.AdminSite):
    """Named for this service; its front page begins with the dashboard."""

    site_title = site_header = "Pet service"
    index_title = "Back office"
    site_url = "/"
    login_form = LoginForm
    # Of another name than Django's, whose pages of one app extend that one.
    index_template = "backoffice/index.html"

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Django's, for which what cannot be meant is a bad request rather than a failure of the service."""

        @wraps(view)
        def understood(*args: Any, **kwargs: Any) -> Any:
            try:
                return view(*args, **kwargs)
            except (ValidationError, DataError, FieldDoesNotExist) as error:  # of values that no form has validated
                raise BadRequest("This is no value for what it was sent as.") from error

        return super().admin_view(understood, cacheable)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return too_many_at_once(request) or super().login(request, extra_context)

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method in ("GET", "HEAD"):  # an address that was typed: only the button logs anybody out
            return HttpResponseRedirect(reverse("admin:index", current_app=self.name))
        return super().logout(request, extra_context)

    def get_urls(self) -> list[Any]:
        return [path("help/", self.admin_view(self.help), name="help"), *super().get_urls()]

    def help(self, request: HttpRequest) -> TemplateResponse:
        """Show the guide for staff."""
        context = {
            "guide": guides.guide(guides.ADMIN_GUIDE),
            "back_url": reverse("admin:index", current_app=self.name),
            "back_text": "Back to the admin",
        }
        return TemplateResponse(request, "petservice/guide.html", context)

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        return super().index(request, {"dashboard": dashboard.read(self, request), **(extra_context or {})})
