from django.apps import AppConfig
from django.core.checks import register


class PetserviceConfig(AppConfig):
    """The project as an app: system checks, and migrations of Django's own tables."""

    name = "petservice"

    def ready(self) -> None:
        from petservice import checks

        register(checks.check_configuration, "petservice")
        register(checks.check_live, "petservice")
