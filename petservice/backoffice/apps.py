from django.contrib.admin import apps as admin_apps


class AdminConfig(admin_apps.AdminConfig):
    """The app of Django's admin, with the admin site of this service as its default."""

    default = False  # "petservice.backoffice" in INSTALLED_APPS means the package
    default_site = "petservice.backoffice.site.PetServiceAdminSite"
