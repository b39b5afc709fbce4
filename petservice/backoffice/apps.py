from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class BackOfficeConfig(AppConfig):
    """The app of the admin site, which has no models of its own."""

    name = "petservice.backoffice"
    default = True


class AdminConfig(admin_apps.AdminConfig):
    """The app of Django's admin, with the admin site of this service as its default."""

    default = False  # "petservice.backoffice" in INSTALLED_APPS means the app above
    default_site = "petservice.backoffice.site.PetServiceAdminSite"
