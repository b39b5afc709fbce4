"""The removal of secrets from Django's debug pages, which a stranger may see where DEBUG is on."""

import re
from collections.abc import ItemsView
from types import FrameType
from typing import Any

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter


class SecretsFilter(SafeExceptionReporterFilter):
    """A filter that also hides URLs with passwords, and the variables of a traceback, which can contain any secret."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|DATABASE_URL|REDIS_URL", re.IGNORECASE
    )

    def get_traceback_frame_variables(self, request: HttpRequest | None, tb_frame: FrameType) -> ItemsView[str, Any]:
        return {}.items()
