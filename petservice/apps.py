from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.core.checks import Tags, register
from django.db.models.signals import post_migrate, pre_save


class PetserviceConfig(AppConfig):
    """The composition: start-up checks and the groups that span all apps."""

    name = "petservice"

    def ready(self) -> None:
        from petservice import checks, groups, logins

        register(checks.check_configuration, "petservice")
        register(checks.check_live, "petservice")
        register(checks.check_redis_url, "petservice")
        register(checks.check_tls_files, Tags.security)
        # By the last app's turn the permissions of all of them exist.
        post_migrate.connect(groups.create_groups, dispatch_uid="petservice.create_groups")
        pre_save.connect(
            logins.keep_nothing_sent, sender="axes.AccessAttempt", dispatch_uid="petservice.keep_nothing_sent"
        )


class BackOfficeConfig(admin_apps.AdminConfig):
    """Django's admin, with our site in the place of its own."""

    default = False  # "petservice" in INSTALLED_APPS is the app above
    default_site = "petservice.admin_site.BackOffice"
