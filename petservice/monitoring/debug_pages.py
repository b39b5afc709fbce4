"""The removal of secrets from Django's debug pages, which a stranger may see where DEBUG is on."""

import re
from collections.abc import ItemsView
from types import FrameType
from typing import Any

from django.http import HttpRequest
from django.template.defaultfilters import pprint
from django.views.debug import SafeExceptionReporterFilter

# A password in a URL, up to the last @ of a word, or after its name.
_PASSWORD = re.compile(
    r"""(://[^\s:/@'"]*:)[^\s'"]+(?=@)|(\bpassword['"]?\s*[=:]\s*)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s&'"]+)""",
    re.IGNORECASE,
)


class SecretsFilter(SafeExceptionReporterFilter):
    """A filter that hides secrets with DEBUG as well, also in URLs and in the variables of a traceback."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|DATABASE_URL|REDIS_URL", re.IGNORECASE
    )

    def is_active(self, request: HttpRequest | None) -> bool:
        return True

    def cleanse_setting(self, key: Any, value: Any) -> Any:
        cleansed = super().cleanse_setting(key, value)
        return self._without_passwords(str(cleansed)) if isinstance(cleansed, str) else cleansed  # some are lazy

    def get_traceback_frame_variables(self, request: HttpRequest | None, tb_frame: FrameType) -> ItemsView[str, Any]:
        # As text, because the text of any object can contain a password. The wrapper keeps the page from quoting it.
        return {
            name: _Text(self._without_passwords(pprint(self.cleanse_setting(name, value))))
            for name, value in super().get_traceback_frame_variables(request, tb_frame)
        }.items()

    def _without_passwords(self, text: str) -> str:
        return _PASSWORD.sub(rf"\1\2{self.cleansed_substitute}", text)


class _Text:
    """A text that a debug page shows as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text
