from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """The app of staff accounts."""

    name = "petservice.accounts"
    verbose_name = "Staff accounts"
