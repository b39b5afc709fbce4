"""System checks that refuse an invalid configuration at start. Each names the variable and shows an example."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register("petservice")
def check_configuration(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    """Return E001 for each variable that cannot be read."""
    return [Error(text, id="petservice.E001") for text in settings.CONFIGURATION_ERRORS]


@register("petservice")
def check_live(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    """Return E003 to E007 for settings that a live service requires and that have no default."""
    if not settings.LIVE:
        return []
    problems = [
        (
            settings.SECRET_KEY_IS_MISSING,
            "SECRET_KEY is required in live; make one with "
            "python -c 'import secrets; print(secrets.token_urlsafe(50))'",
            "petservice.E003",
        ),
        (
            not settings.ALLOWED_HOSTS,
            "ALLOWED_HOSTS is required in live: the names that clients use, for example ALLOWED_HOSTS=pets.example.com",
            "petservice.E004",
        ),
        (settings.DEBUG, "DEBUG is refused in live, because it shows internals; unset DEBUG", "petservice.E005"),
        (
            not settings.REQUIRE_HTTPS,
            "PETSERVICE_REQUIRE_HTTPS is off, but live keys must not travel over plain HTTP; unset it",
            "petservice.E006",
        ),
        (
            not settings.CSRF_TRUSTED_ORIGINS,
            "CSRF_TRUSTED_ORIGINS is required in live: where staff open the admin, "
            "for example CSRF_TRUSTED_ORIGINS=https://pets.example.com",
            "petservice.E007",
        ),
    ]
    return [Error(text, id=check_id) for wrong, text, check_id in problems if wrong]
