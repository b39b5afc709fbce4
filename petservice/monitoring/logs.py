"""What log lines look like: the request id in each, and one JSON object a line where programs read them."""

import json
import logging
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from petservice.monitoring.redaction import KeylessFormatter, without_keys

# Set while a request is handled, so that every line logged meanwhile can be found by it.
request_id: ContextVar[str] = ContextVar("request_id", default="-")


class RequestIDFilter(logging.Filter):
    """Adds `request_id` to every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


class JSONFormatter(logging.Formatter):
    """Writes each record as one line of JSON, its traceback included, without API keys."""

    def format(self, record: logging.LogRecord) -> str:
        traceback = [self.formatException(record.exc_info)] if record.exc_info else []
        if record.stack_info:
            traceback.append(self.formatStack(record.stack_info))
        return json_line(
            record.levelname,
            record.name,
            record.getMessage(),
            created=record.created,
            process=record.process,
            traceback="\n".join(traceback),
        )


def json_line(
    level: str, logger: str, message: str, *, created: float, process: int | None = None, traceback: str = ""
) -> str:
    """A log line without its end; `created` is in seconds since the epoch."""
    fields = {
        "time": datetime.fromtimestamp(created, UTC).isoformat(),
        "level": level,
        "logger": logger,
        "process": process,
        "request_id": without_keys(request_id.get()),
        "message": without_keys(message),
    }
    if traceback:
        fields["traceback"] = without_keys(traceback)
    # In ASCII: all else that somebody may take for the end of a line, and what is no Unicode, is escaped.
    return json.dumps(fields)


def lost_lines(number: int) -> str:
    """The log line that stands for `number` others."""
    message = f"{number} log lines were lost: standard error was not read fast enough."
    return json_line("WARNING", __name__, message, created=time.time())


def logging_settings(log_format: str) -> dict[str, Any]:
    """Return Django's LOGGING: a line for each event on standard error, in the format `line` or `json`.

    A traceback stands below its line, or in JSON inside it.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"request_id": {"()": RequestIDFilter}},
        "formatters": {
            "line": {
                "()": KeylessFormatter,
                "fmt": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s",
            },
            "json": {"()": JSONFormatter},
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": log_format, "filters": ["request_id"]}},
        "root": {"handlers": ["console"], "level": "INFO"},
        "loggers": {
            # Django's own handlers would write each line a second time, or mail it.
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            # A client's mistake is the client's to see; only crashes are logged.
            "django.request": {"level": "ERROR"},
            "django.server": {"handlers": [], "propagate": True},
            # Failed logins and lock-outs, not each step on the way.
            "axes": {"level": "WARNING"},
        },
    }
