"""The request id in log lines."""

import logging
from contextvars import ContextVar

# Set while a request is handled, so that every line logged meanwhile can be found by it.
request_id: ContextVar[str] = ContextVar("request_id", default="-")


class RequestIDFilter(logging.Filter):
    """Adds `request_id` to every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True
