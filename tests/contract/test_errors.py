"""Every failure gets an error response with the same envelope."""

import logging
import uuid
from collections.abc import Callable

import pytest
from django.conf import LazySettings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.test import RequestFactory
from django.test.client import ClientHandler
from rest_framework.exceptions import MethodNotAllowed

from pets.views import PetViewSet
from petservice.monitoring.logs import LineFormatter
from tests.contract.rows.row import WRITE
from tests.contract.test_table import assert_api_response, assert_failure
from tests.contract.transports import ClientTransport, Reply

CAUSE = "raised on purpose"


def crash(*args: object) -> None:
    raise RuntimeError(CAUSE)


class CrashingMiddleware:
    """A middleware that raises an exception after the view has returned."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        self.get_response(request)
        raise RuntimeError(CAUSE)


def assert_crash(reply: Reply) -> None:
    assert reply.status == 500
    assert reply.json() == {"error": {"code": "internal_error", "message": reply.error["message"]}}
    assert CAUSE not in reply.body.decode()
    assert "Traceback" not in reply.body.decode()


def logged_crash(caplog: pytest.LogCaptureFixture) -> logging.LogRecord:
    """Return the only log record with a traceback."""
    (record,) = (record for record in caplog.records if record.exc_info)
    assert record.exc_info
    assert str(record.exc_info[1]) == CAUSE
    return record


@pytest.mark.parametrize(
    ("exception", "status"), [(Http404("x"), 404), (PermissionDenied("x"), 403), (MethodNotAllowed("GET"), 404)]
)
def test_exceptions_that_a_view_may_raise_have_the_envelope(
    client_transport: ClientTransport, monkeypatch: pytest.MonkeyPatch, exception: Exception, status: int
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise exception

    monkeypatch.setattr(PetViewSet, "retrieve", refuse)

    path = f"/v1/pets/{uuid.UUID(int=7)}"
    assert_failure(client_transport.send("GET", path, WRITE), status)


@pytest.mark.parametrize("debug", [False, True])
def test_crash_in_a_view_is_reported_only_in_the_log(
    client_transport: ClientTransport,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    debug: bool,
) -> None:
    settings.DEBUG = debug
    monkeypatch.setattr(PetViewSet, "list", crash)
    monkeypatch.setattr(caplog.handler, "formatter", LineFormatter())

    reply = client_transport.send("GET", "/v1/pets", WRITE)

    assert_crash(reply)
    assert_api_response(reply)
    assert logged_crash(caplog).request_id == reply.header("X-Request-ID")  # type: ignore[attr-defined]


def test_crash_in_the_first_middleware_has_the_envelope(
    settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    """Such a response lacks the standard headers, so the test uses no client that checks them."""
    settings.MIDDLEWARE = [f"{__name__}.CrashingMiddleware", *settings.MIDDLEWARE]

    response = ClientHandler()(RequestFactory().get("/v1/pets").environ)

    assert_crash(Reply(response.status_code, [], response.content))
    logged_crash(caplog)
