"""The admin that staff work in: Django's own, with a front page that shows how things stand."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse

from petservice import dashboard
from petservice.logins import LoginForm


class BackOffice(admin.AdminSite):
    """Named for this service; its front page begins with the dashboard."""

    site_title = site_header = "Pet service"
    index_title = "Back office"
    site_url = "/"
    login_form = LoginForm
    # Of another name than Django's, whose pages of one app extend that one.
    index_template = "petservice/back_office.html"

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        return super().index(request, {"dashboard": dashboard.read(self, request), **(extra_context or {})})
