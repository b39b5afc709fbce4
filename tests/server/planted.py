"""The service with a few planted paths beside its own, which wait, fail, stream and tell what they were given.

They speak to a test through the folder that PLANTED names: it sees a file there, or puts one.
"""

import gc
import json
import os
import select
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from django.http import HttpResponse

from petservice.handler import Handler
from petservice.server import worker
from petservice.server.asgi import Application

FOLDER = Path(os.environ["PLANTED"])
MEBIBYTE = b"x" * 2**20
# What a test can wait for.
worker.PROMPT = float(os.environ.get("PLANTED_PROMPT", worker.PROMPT))
worker.REQUEST_DEADLINE = int(os.environ.get("PLANTED_DEADLINE", worker.REQUEST_DEADLINE))


class SlowToBegin(worker.EventLoopWorker):
    """The first of these begins, and no other ever does."""

    def init_process(self) -> None:
        while self.age > 1:
            time.sleep(0.01)
        super().init_process()


class EndsMidway(worker.Connection):
    """Answers what asks for it once its client has ended its half, which the loop gets to see just after that."""

    async def _serve_http_request(self, request: Any, *arguments: Any) -> Any:
        if request.query == "midway":
            (FOLDER / "midway").touch()
            end = select.poll()
            end.register(self.transport.get_extra_info("socket"), select.POLLRDHUP)
            end.poll()
        return await super()._serve_http_request(request, *arguments)


class Midway(worker.EventLoopWorker):
    """Has connections of that kind only."""

    def _observe(self) -> None:
        self._connection = EndsMidway


class Export:
    """More than any buffer takes; leaves a file when it is closed."""

    def __iter__(self) -> Iterator[bytes]:
        return iter([MEBIBYTE] * 64)

    def close(self) -> None:
        (FOLDER / "export-closed").touch()


class PlantedHandler(Handler):
    """The planted paths, or else the service."""

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        path = environ["PATH_INFO"]
        answer: Iterable[bytes] = [b"{}"]
        if path == "/held":  # until the test says so
            (FOLDER / f"held-{time.monotonic_ns()}").touch()
            while not (FOLDER / "released").exists():
                time.sleep(0.01)
        elif path == "/hanging":
            time.sleep(3600)
        elif path == "/export":
            answer = Export()
        elif path == "/breaking-export":
            answer = (MEBIBYTE[: 2**20 // (3 - number)] for number in range(9))
        elif path == "/environ":
            answer = [told(environ)]
        else:
            return super().__call__(environ, start_response)
        length = [("Content-Length", str(len(answer[0])))] if isinstance(answer, list) else []
        start_response("200 OK", [("Content-Type", "application/json"), *length])
        return answer

    def api_answer(self, environ: dict[str, Any]) -> HttpResponse:
        path = environ["PATH_INFO"]
        if path == "/v1/crash":
            raise RuntimeError("the planted cause")
        if path == "/v1/connections":
            gc.collect()
            known = sum(isinstance(one, worker.Connection) for one in gc.get_objects())
            body = str(known).encode()
            return HttpResponse(body, "application/json", headers={"Content-Length": str(len(body))})
        if path in ("/v1/environ", "/v1/worker"):
            body = told(environ) if path == "/v1/environ" else str(os.getpid()).encode()
            return HttpResponse(body, "application/json", headers={"Content-Length": str(len(body))})
        return super().api_answer(environ)


def told(environ: dict[str, Any]) -> bytes:
    texts = {name: value for name, value in environ.items() if isinstance(value, str)}
    return json.dumps(texts | {"body": len(environ["wsgi.input"].read())}).encode()


application = Application(PlantedHandler())
