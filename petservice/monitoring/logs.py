"""What log lines look like: the request id in each, and one JSON object a line where programs read them."""

import json
import logging
import time
from contextvars import ContextVar
from datetime import UTC, datetime

from petservice.monitoring.redaction import without_keys

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
