"""The service with endpoints for tests, which wait, fail, return large bodies or return the META of their request.

A test and the endpoints communicate by files in the folder that TEST_ENDPOINTS_FOLDER names. Other variables change
the timeouts of the service.
"""

import gc
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db import connection as database
from django.db import transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from petservice.api import readiness
from petservice.db.pending_migrations import pending_migrations
from petservice.server import acceptor, limits
from petservice.server import application as server
from petservice.server.connection import Connection
from petservice.sign_in import login_limits
from petservice.wsgi import Handler

FOLDER = Path(os.environ["TEST_ENDPOINTS_FOLDER"])
MEBIBYTE = b"x" * 2**20
limits.REQUEST_TIMEOUT = int(os.environ.get("TEST_REQUEST_TIMEOUT", limits.REQUEST_TIMEOUT))
acceptor.DEFERRAL = float(os.environ.get("TEST_DEFERRAL", acceptor.DEFERRAL))
acceptor.MAX_DEFERRAL = max(acceptor.MAX_DEFERRAL, 10 * acceptor.DEFERRAL)
server.CHECK_TIMEOUT = float(os.environ.get("TEST_CHECK_TIMEOUT", server.CHECK_TIMEOUT))
if "TEST_MEASUREMENT_INTERVAL" in os.environ:
    server.WATCH_INTERVAL = server.COUNT_INTERVAL = float(os.environ["TEST_MEASUREMENT_INTERVAL"])
limits.LINGER = float(os.environ.get("TEST_LINGER", limits.LINGER))


class EndpointsHandler(Handler):
    """A handler that serves the endpoints for tests, and any other path as the service does."""

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        match request.path_info:
            case "/held" | "/v1/held":
                _hold()
                return _json("{}")
            case "/admin/login/" if request.method == "POST":
                _hold()
            case "/transaction":
                with transaction.atomic(), database.cursor() as cursor:
                    cursor.execute("SELECT 1")
                    _hold()
                return _json("{}")
            case "/begun":
                (FOLDER / "begun").touch()
                return _json("{}")
            case "/hanging":
                time.sleep(3600)
            case "/slow":
                time.sleep(3)  # what a busy database takes, and not long enough to count as blocked
                return _json("{}")
            case "/export":  # larger than any buffer
                return StreamingHttpResponse([MEBIBYTE] * 32)
            case "/breaking-export":
                return StreamingHttpResponse(_breaking())
            case "/meta" | "/v1/meta":
                return _json(_meta(request))
            case "/v1/recorded":  # for clients that do not read the response
                (FOLDER / f"recorded-{time.monotonic_ns()}").write_text(_meta(request))
                return _json("{}")
            case "/v1/crash":
                raise RuntimeError("raised on purpose")
            case "/v1/connections":
                gc.collect()
                return _json(str(sum(isinstance(one, Connection) for one in gc.get_objects())))
            case "/v1/garbage":
                return _json(str(gc.collect()))
            case "/v1/open":  # the number of connections that the worker counts
                return _json(str(sum(one.open for one in gc.get_objects() if isinstance(one, acceptor.Acceptor))))
            case "/v1/worker":
                return _json(str(os.getpid()))
        return super().get_response(request)


def _check_that_may_wait() -> int:
    """Return the number of unapplied migrations, after a wait if the file `slow` exists."""
    if (FOLDER / "slow").exists():
        _hold()
    return pending_migrations()


def _hold() -> None:
    """Let the test know that something waits, and wait until it creates the file `released`."""
    (FOLDER / f"held-{time.monotonic_ns()}").touch()
    while not (FOLDER / "released").exists():
        time.sleep(0.01)


def _json(body: str) -> HttpResponse:
    return HttpResponse(body, "application/json", headers={"Content-Length": str(len(body.encode()))})


def _breaking() -> Iterator[bytes]:
    yield MEBIBYTE
    raise RuntimeError("raised on purpose")


def _meta(request: HttpRequest) -> str:
    strings: dict[str, Any] = {name: value for name, value in request.META.items() if isinstance(value, str)}
    own = {"scheme": request.scheme, "client": login_limits.counted_address(request)}
    return json.dumps(strings | own)


readiness.pending_migrations = _check_that_may_wait
application = EndpointsHandler()
