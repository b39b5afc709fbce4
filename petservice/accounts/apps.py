from django.apps import AppConfig, apps
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    """The app of staff accounts."""

    name = "petservice.accounts"
    verbose_name = "Staff accounts"

    def ready(self) -> None:
        from petservice.accounts import groups, session_versions

        # Django's own pages of users and groups, for permissions that no role has.
        apps.get_app_config("auth").verbose_name = "Users and groups"

        # The signal of the last app creates the groups, because only then all permissions exist.
        post_migrate.connect(groups.create_groups, dispatch_uid="petservice.create_groups")
        user_logged_in.connect(session_versions.begin, dispatch_uid="petservice.begin_session")
