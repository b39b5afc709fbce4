from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.db.models.signals import post_migrate, pre_save


class BackOfficeConfig(AppConfig):
    """The pages and the accounts of staff; without models of its own."""

    name = "petservice.backoffice"
    default = True

    def ready(self) -> None:
        from petservice.backoffice import groups, logins

        # By the last app's turn the permissions of all of them exist.
        post_migrate.connect(groups.create_groups, dispatch_uid="petservice.create_groups")
        pre_save.connect(
            logins.keep_nothing_sent, sender="axes.AccessAttempt", dispatch_uid="petservice.keep_nothing_sent"
        )


class AdminConfig(admin_apps.AdminConfig):
    """Django's admin, with our site in the place of its own."""

    default = False  # "petservice.backoffice" in INSTALLED_APPS is the app above
    default_site = "petservice.backoffice.site.BackOffice"
