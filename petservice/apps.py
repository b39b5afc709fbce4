from django.apps import AppConfig


class PetserviceConfig(AppConfig):
    """The project as an app: system checks, and migrations of Django's own tables."""

    name = "petservice"

    def ready(self) -> None:
        from petservice import checks  # noqa: F401  # registers them
