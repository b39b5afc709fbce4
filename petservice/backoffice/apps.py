from django.apps import AppConfig, apps
from django.contrib.admin import apps as admin_apps
from django.db.models.signals import post_migrate


class BackOfficeConfig(AppConfig):
    """The app of the admin pages and the staff accounts, which has no models of its own."""

    name = "petservice.backoffice"
    default = True

    def ready(self) -> None:
        from petservice.backoffice import groups

        apps.get_app_config("auth").verbose_name = "Staff accounts"

        # The signal of the last app creates the groups, because only then all permissions exist.
        post_migrate.connect(groups.create_groups, dispatch_uid="petservice.create_groups")


class AdminConfig(admin_apps.AdminConfig):
    """The app of Django's admin, with the admin site of this service as its default."""

    default = False  # "petservice.backoffice" in INSTALLED_APPS means the app above
    default_site = "petservice.backoffice.site.PetServiceAdminSite"
