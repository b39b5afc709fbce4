from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView

import pets.urls
import store.urls
from petservice.accounts.password_links import SetPasswordView
from petservice.api.health import HealthViewSet, ready
from petservice.backoffice.installation import installation_page
from petservice.guides.views import api_guide, changelog, docs, home, openapi_document

urlpatterns = [
    # Without include(), which resolves each URL twice.
    *pets.urls.urlpatterns,
    *store.urls.urlpatterns,
    path("v1/health", HealthViewSet.as_view({"get": "retrieve"}), name="health"),
    path("", home, name="home"),
    path("ready", ready, name="ready"),
    path("openapi.json", openapi_document, name="openapi"),
    path("docs", docs, name="docs"),
    path("docs/api", api_guide, name="api-guide"),
    path("docs/changelog", changelog, name="changelog"),
    # The only redirect, because staff type this URL.
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    # Under the path of the admin, so that it has its sessions, security tokens and error pages.
    path("admin/set-password/<uidb64>/<token>/", SetPasswordView.as_view(), name="password-link"),
    path("admin/installation/", admin.site.admin_view(installation_page), name="installation"),
    path("admin/", admin.site.urls),
]

handler400 = "petservice.backoffice.error_views.bad_request"
handler403 = "petservice.backoffice.error_views.permission_denied"
handler404 = "petservice.backoffice.error_views.not_found"
handler500 = "petservice.backoffice.error_views.server_error"
