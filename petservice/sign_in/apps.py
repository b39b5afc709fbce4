from django.apps import AppConfig


class SignInConfig(AppConfig):
    """The app of logins, second factors and sessions."""

    name = "petservice.sign_in"

    def ready(self) -> None:
        from petservice.sign_in import sessions  # noqa: F401  # its receiver of a signal
