from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register


class PetserviceConfig(AppConfig):
    """The project as an app: its system check, and migrations of Django's own tables."""

    name = "petservice"

    def ready(self) -> None:
        """Count the calls of the database from now on."""
        from petservice.monitoring import database_calls  # noqa: F401  # connects itself to Django's signal


@register("petservice")
def check_configuration(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    """Return an error for each environment variable that cannot be used, with an example."""
    return [Error(text, id="petservice.E001") for text in settings.CONFIGURATION_ERRORS]
