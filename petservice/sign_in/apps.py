from django.apps import AppConfig
from django.db.models.signals import pre_save


class SignInConfig(AppConfig):
    """The app of logins, second factors and sessions."""

    name = "petservice.sign_in"

    def ready(self) -> None:
        from petservice.sign_in import logins

        pre_save.connect(logins.clear_form_data, sender="axes.AccessAttempt", dispatch_uid="petservice.clear_form_data")
