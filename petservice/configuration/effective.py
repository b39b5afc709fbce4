"""The configuration that the service uses, for operators."""

import os
import re

from petservice.configuration import environment
from petservice.configuration.environment import env

# A password in a URL, also in one without a scheme or with an @ in the name, or in a list of parameters.
_PASSWORD = re.compile(r"(^(?:[^:/@]*:?//)?+[^:]*:)(?:[^?]*|[^/]*)(?=@)|(password=)('[^']*'|[^\s&]*)", re.IGNORECASE)
# What the service uses in place of a missing or empty variable.
_USED = {
    "ALLOWED_HOSTS": ",".join(environment.ALLOWED_HOSTS),
    "DATABASE_URL": f"sqlite:///{environment.DATABASES['default'].get('NAME', '')}",
    "PETSERVICE_DATA_DIR": environment.DATA_DIR,
    "PORT": "127.0.0.1:8000",
}


def effective_settings() -> list[dict[str, str]]:
    """Return each variable of the service, with its value in effect without secrets, and where that comes from."""
    return [
        {"name": name, "value": _shown(name, value), "source": "environment" if name in os.environ else "default"}
        for name, value in sorted(env.dump().items())
    ]


def _shown(name: str, value: object) -> str:
    if name == "SECRET_KEY":
        return "****"
    return _PASSWORD.sub(r"\1\2****", str(_USED.get(name, "") if value in ("", None) else value))
