"""Every failure gets an error response with the same envelope."""

import logging
import uuid
from collections.abc import Callable
from unittest.mock import Mock

import pytest
from django.conf import LazySettings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.test import RequestFactory
from django.test.client import ClientHandler

from pets.views import PetViewSet
from petservice.monitoring.logs import JSONFormatter, LineFormatter
from tests.contract.rows.row import WRITE
from tests.contract.test_table import assert_failure
from tests.contract.transports import ClientTransport

CAUSE = "raised on purpose"


def crashing_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Return a middleware that raises an exception after the view has returned."""

    def crash(request: HttpRequest) -> HttpResponse:
        get_response(request)
        raise RuntimeError(CAUSE)

    return crash


@pytest.mark.parametrize(("debug", "formatter"), [(False, JSONFormatter), (True, LineFormatter)])
@pytest.mark.parametrize(("kind", "status"), [(Http404, 404), (PermissionDenied, 403), (RuntimeError, 500)])
def test_an_exception_of_a_view_has_the_envelope_and_only_a_crash_a_traceback_in_the_log(
    client_transport: ClientTransport,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    debug: bool,
    formatter: type[logging.Formatter],
    kind: type[Exception],
    status: int,
) -> None:
    settings.DEBUG = debug
    key = client_transport.seed["write"]
    monkeypatch.setattr(PetViewSet, "retrieve", Mock(side_effect=kind(f"{CAUSE} with {key}")))
    monkeypatch.setattr(caplog.handler, "formatter", formatter("%(request_id)s %(message)s"))

    reply = client_transport.send("GET", f"/v1/pets/{uuid.UUID(int=7)}", WRITE)

    assert_failure(reply, status)
    assert CAUSE not in reply.body.decode()
    logged, is_crash = caplog.text, status == 500
    assert logged.count("Traceback") == is_crash
    assert (f"RuntimeError: {CAUSE} with {key[:18]}" in logged) == is_crash
    assert key[18:] not in logged
    assert reply.header("X-Request-ID") in logged or not is_crash


def test_crash_in_the_first_middleware_has_the_envelope(
    settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    """Such a response lacks the standard headers, so the test uses no client that checks them."""
    settings.MIDDLEWARE = [f"{__name__}.crashing_middleware", *settings.MIDDLEWARE]

    response = ClientHandler()(RequestFactory().get("/v1/pets").environ)

    assert response.status_code == 500
    assert b'{"error":{"code":"internal_error","message":"' in response.content
    assert CAUSE not in response.content.decode()
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == [CAUSE]
