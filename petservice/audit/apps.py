from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The app of the audit."""

    name = "petservice.audit"

    def ready(self) -> None:
        from petservice.audit import logins  # noqa: F401  # connects the signals of logins
