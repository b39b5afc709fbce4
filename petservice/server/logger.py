"""gunicorn's own log lines, in the format of all others and without API keys."""

import logging
from typing import Any

from django.conf import settings
from gunicorn.glogging import Logger

from petservice.monitoring.logs import RequestIDFilter


class ServiceLogger(Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's logger. It logs a line that it cannot read as it came, and a key may be in it."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        logging.captureWarnings(settings.LOG_FORMAT == "json")  # which Python would print
        for handler in self.error_log.handlers:
            handler.setFormatter(logging.root.handlers[0].formatter)
            handler.addFilter(RequestIDFilter())
