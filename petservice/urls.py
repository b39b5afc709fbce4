from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView, TemplateView

from pets.views import PetViewSet
from petservice.accounts.password_links import SetPasswordView
from petservice.api.errors import safe_methods_only
from petservice.api.health import HealthViewSet, ready
from petservice.backoffice.installation import installation_page
from petservice.guides.views import api_guide, changelog, openapi_document
from store.views import InventoryViewSet

urlpatterns = [
    path("v1/pets", PetViewSet.as_view({"get": "list", "post": "create"}), name="pets"),
    path("v1/pets/<str:petId>", PetViewSet.as_view({"get": "retrieve"}), name="pet"),
    path("v1/store/inventory", InventoryViewSet.as_view({"get": "retrieve"}), name="inventory"),
    path("v1/health", HealthViewSet.as_view({"get": "retrieve"}), name="health"),
    path("", safe_methods_only(TemplateView.as_view(template_name="guides/home.html")), name="home"),
    path("ready", ready, name="ready"),
    path("openapi.json", openapi_document, name="openapi"),
    path("docs", safe_methods_only(TemplateView.as_view(template_name="guides/docs.html")), name="docs"),
    path("docs/api", api_guide, name="api-guide"),
    path("docs/changelog", changelog, name="changelog"),
    # Staff type this URL. Django adds the slash to those below it.
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
