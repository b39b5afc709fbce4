"""The format of log lines: text for people or one JSON object per line, each with the request id."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime

from petservice.monitoring.redaction import echo, without_keys
from petservice.paths import READINESS

# The id of the current request, which every line that is logged during the request contains.
request_id: ContextVar[str] = ContextVar("request_id", default="-")
# The id of the trace that the client says the current request is a part of, which lines in JSON contain.
trace_id: ContextVar[str | None] = ContextVar("trace_id", default=None)


class RefusalFilter(logging.Filter):
    """A filter that turns Django's record of a suspicious request into a warning of one line.

    Django logs it as an error with a traceback, although the client is at fault and may send many. The filter drops the
    error that the service is not ready: load balancers ask each second, and petservice.api.readiness logs changes.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security.") and record.levelno == logging.ERROR:
            record.levelno, record.levelname, record.exc_info = logging.WARNING, "WARNING", None
            record.msg, record.args = "A request was refused: %s", (echo(record.getMessage()),)
        return (record.name, record.args) != ("django.request", ("Service Unavailable", READINESS))


class LineFormatter(logging.Formatter):
    """A formatter that writes each record as a line with the request id, and its traceback, without API keys."""

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = request_id.get()
        return without_keys(super().format(record))


class JSONFormatter(logging.Formatter):
    """A formatter that writes each record, including its traceback, as one line of JSON without API keys."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "request_id": without_keys(request_id.get()),
            **({"trace_id": trace_id.get()} if trace_id.get() else {}),
            "message": without_keys(record.getMessage()),
        }
        if record.exc_info:
            fields["traceback"] = without_keys(self.formatException(record.exc_info))
        # ASCII only: this escapes Unicode line separators and invalid Unicode, which break some readers.
        return json.dumps(fields)
