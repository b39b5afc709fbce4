"""The service with a few endpoints for tests, which wait, fail, return much and say what they were given.

They speak to a test through the folder that TEST_ENDPOINTS_FOLDER names: it sees a file there, or puts one. Further
variables shorten or lengthen what a test would have to wait for.
"""

import gc
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from petservice import health
from petservice.backoffice import logins
from petservice.db.backend import backend
from petservice.db.pending_migrations import missing_migrations
from petservice.handler import Handler
from petservice.server import balancing, protocol, worker
from petservice.server.asgi import Application

FOLDER = Path(os.environ["TEST_ENDPOINTS_FOLDER"])
MEBIBYTE = b"x" * 2**20
settings.ROOT_URLCONF = "tests.server.endpoint_urls"
balancing.MAX_DEFERRAL = float(os.environ.get("TEST_MAX_DEFERRAL", balancing.MAX_DEFERRAL))
protocol.REQUEST_TIMEOUT = worker.REQUEST_TIMEOUT = int(
    os.environ.get("TEST_REQUEST_TIMEOUT", protocol.REQUEST_TIMEOUT)
)


class SlowToBegin(worker.EventLoopWorker):
    """The first of these begins, and no other ever does."""

    def init_process(self) -> None:
        while self.age > 1:
            time.sleep(0.01)
        super().init_process()


class EndpointsHandler(Handler):
    """The endpoints for tests, or else the service."""

    def is_unknown(self, path: str) -> bool:
        return False  # the test endpoints have no pattern

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        match request.path_info:
            case "/held":
                (FOLDER / f"held-{time.monotonic_ns()}").touch()
                _hold()
                return _json("{}")
            case "/admin/login/" if request.method == "POST" and logins._REJECTED not in request.META:
                (FOLDER / f"held-{time.monotonic_ns()}").touch()
                _hold()
            case "/ready" if (FOLDER / "silent").exists():  # as with a database that says nothing
                _hold()
            case "/begun":
                (FOLDER / "begun").touch()
                return _json("{}")
            case "/hanging":
                time.sleep(3600)
            case "/export":  # more than any buffer takes
                return StreamingHttpResponse([MEBIBYTE] * 32)
            case "/breaking-export":
                return StreamingHttpResponse(_breaking())
            case "/meta" | "/v1/meta":
                return _json(_meta(request))
            case "/v1/noted":  # for clients that take no response
                (FOLDER / f"noted-{time.monotonic_ns()}").write_text(_meta(request))
                return _json("{}")
            case "/v1/crash":
                raise RuntimeError("raised on purpose")
            case "/v1/connections":
                gc.collect()
                return _json(str(sum(isinstance(one, protocol.Connection) for one in gc.get_objects())))
            case "/v1/open":  # connections, as the worker counts them
                return _json(str(sum(one.open for one in gc.get_objects() if isinstance(one, balancing.Acceptor))))
            case "/v1/worker":
                return _json(str(os.getpid()))
        return super().get_response(request)


def _noted_look() -> int:
    """The readiness probe's look at the database: noted, and held while the test says so."""
    look = FOLDER / f"look-{time.monotonic_ns()}"
    look.touch()
    if (FOLDER / "slow").exists():
        _hold()
    missing = missing_migrations()
    look.write_text(str(time.monotonic_ns()))
    return missing


def _hold() -> None:
    """Wait until the test says that it is enough."""
    while not (FOLDER / "released").exists():
        time.sleep(0.01)


def _json(body: str) -> HttpResponse:
    return HttpResponse(body, "application/json", headers={"Content-Length": str(len(body.encode()))})


def _breaking() -> Iterator[bytes]:
    yield MEBIBYTE
    raise RuntimeError("raised on purpose")


def _meta(request: HttpRequest) -> str:
    texts: dict[str, Any] = {name: value for name, value in request.META.items() if isinstance(value, str)}
    return json.dumps(texts | {"scheme": request.scheme, "body": len(request.read())})


health.missing_migrations = _noted_look
DatabaseWrapper: Any = type(backend())
DatabaseWrapper.call_timeout = float(os.environ.get("TEST_CALL_TIMEOUT", DatabaseWrapper.call_timeout))
application = Application(EndpointsHandler())
