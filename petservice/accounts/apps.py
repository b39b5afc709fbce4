from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    """The app of staff accounts."""

    name = "petservice.accounts"
    verbose_name = "Staff accounts"

    def ready(self) -> None:
        from petservice.accounts import groups

        # The signal of the last app creates the groups, because only then all permissions exist.
        post_migrate.connect(groups.create_groups, dispatch_uid="petservice.create_groups")
