"""gunicorn's own log lines, in the format of all others and without API keys."""

import logging
import os
from typing import Any

from gunicorn.glogging import Logger

from petservice.monitoring.logs import LINE_FORMAT, JSONFormatter, RequestIDFilter
from petservice.monitoring.redaction import KeylessFormatter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")


class ServiceLogger(Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's logger. It logs a line that it cannot read as it came, and a key may be in it."""

    def setup(self, cfg: Any) -> None:
        from django.conf import settings

        super().setup(cfg)
        in_json = settings.LOG_FORMAT == "json"
        logging.captureWarnings(in_json)  # which Python would print
        formatter = JSONFormatter() if in_json else KeylessFormatter(LINE_FORMAT)
        for handler in self.error_log.handlers:
            handler.setFormatter(formatter)
            handler.addFilter(RequestIDFilter())
