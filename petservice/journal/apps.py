from django.apps import AppConfig


class JournalConfig(AppConfig):
    """The app of the journal."""

    name = "petservice.journal"
    verbose_name = "Audit"

    def ready(self) -> None:
        from petservice.journal import logins  # noqa: F401  # connects the signals of logins
