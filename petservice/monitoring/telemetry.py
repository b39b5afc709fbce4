"""Spans of requests and errors for the collectors of an operator, by OpenTelemetry and in Sentry's protocol.

Each needs its packages (the extra `otel` of pyproject.toml) and its own variables. Without them, nothing is loaded.
"""

import json
import logging
import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.util import find_spec
from typing import Any

from petservice.monitoring.redaction import without_keys

logger = logging.getLogger(__name__)

# The variables of OpenTelemetry that say where spans go, one of which turns them on.
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
# The header `traceparent` with the id of a trace (W3C Trace Context, 3.2). Only later versions may add further parts.
_TRACEPARENT = re.compile(r"(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")

# OpenTelemetry's tracer, if this process sends spans.
tracer: Any = None
_NO_SPAN: AbstractContextManager[Any] = nullcontext()


@cache
def start() -> None:
    """Begin to send spans and errors from this process, if the packages are there and configured.

    Only a process that handles requests may call it: a fork inherits the locks of the threads that send, maybe locked.
    """
    for variables, begin in (("OTEL_…", _begin_spans), ("SENTRY_…", _begin_errors)):
        try:
            begin()
        except Exception as error:  # the service runs without a collector, also if a variable is invalid
            logger.error("A collector gets nothing, check the variables %s: %s", variables, error)


def _begin_spans() -> None:
    global tracer
    if find_spec("opentelemetry") and any(map(os.environ.get, _ENDPOINTS)):
        import opentelemetry.propagate  # noqa: F401  # now, because it refuses what OTEL_PROPAGATORS may not say
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        # Of attributes with the same name, the last one counts.
        attributes = "service.name=petservice", os.environ.get("OTEL_RESOURCE_ATTRIBUTES")
        os.environ["OTEL_RESOURCE_ATTRIBUTES"] = ",".join(filter(None, attributes))
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        tracer = provider.get_tracer("petservice")


def _begin_errors() -> None:
    if find_spec("sentry_sdk") and os.environ.get("SENTRY_DSN"):
        import sentry_sdk
        from sentry_sdk.integrations.logging import LoggingIntegration

        # Only what the service logs as an error, without the values of variables, which may be personal or secret.
        sentry_sdk.init(
            integrations=[LoggingIntegration()],
            auto_enabling_integrations=False,
            include_local_variables=False,
            before_send=lambda event, hint: json.loads(without_keys(json.dumps(event, default=str))),
        )


def trace_id_of(traceparent: str) -> str | None:
    """Return the id of the trace that a `traceparent` header names, or None if the header is malformed."""
    found = _TRACEPARENT.fullmatch(traceparent)
    return found[1] if found else None


def span(name: str) -> AbstractContextManager[Any]:
    """Return a context that is a span within the current one, if spans are sent."""
    return _NO_SPAN if tracer is None else tracer.start_as_current_span(name)


def request_span(headers: Mapping[str, str]) -> AbstractContextManager[Any]:
    """Return a context that is the span of a request with these headers, if spans are sent."""
    if tracer is None:
        return _NO_SPAN
    from opentelemetry import propagate, trace

    parent = propagate.extract(headers)
    started: AbstractContextManager[Any] = tracer.start_as_current_span("request", parent, trace.SpanKind.SERVER)
    return started


def describe_request(method: str, route: str, status: int) -> None:
    """Give the current span, which is that of a request, attributes by OpenTelemetry's names for HTTP."""
    from opentelemetry.trace import get_current_span

    current = get_current_span()
    current.update_name(f"{method} {route}")
    current.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
