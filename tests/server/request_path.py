"""`python -m tests.server.request_path` prints the files of the service that `POST /v1/pets` enters, in their order.

A file is printed again when a call returns to it. The path begins after the parsing of HTTP, and leaves out what the
request's two queries do. `DATABASE_URL` names a database with all migrations, which gets a key and two pets.
"""

import asyncio
import os
import sys
from itertools import groupby
from types import FrameType
from typing import Any

import django

from tests.service import ROOT

BODY = b'{"name": "Rex", "tag": "dog"}'
PACKAGES = tuple(f"{ROOT}/{package}/" for package in ("petservice", "pets", "store"))
DATABASE = f"{ROOT}/petservice/db/"


class Tracer:
    """A recorder of the file that each call enters or returns to."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self._query: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event not in ("call", "return") or not file.startswith(PACKAGES):
            return
        if self._query is None and file.startswith(DATABASE):
            self._query = frame
        if self._query is None:
            self.files += [file] if event == "call" else _caller(frame)
        elif frame is self._query and event == "return":
            self._query = None
            self.files += _caller(frame)


def _caller(frame: FrameType) -> list[str]:
    """Return the file that a call returns to, or nothing if no file of the service has called."""
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_filename.startswith(PACKAGES):
        caller = caller.f_back
    return [] if caller is None else [caller.f_code.co_filename]


async def create_pet(application: Any, key: str) -> None:
    """Call the application with a request that creates a pet."""
    sent: list[dict[str, Any]] = []
    scope = {
        **{"type": "http", "method": "POST", "scheme": "http", "raw_path": b"/v1/pets", "query_string": b""},
        **{"root_path": "", "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 40000)},
        "headers": [
            *((b"host", b"localhost"), (b"x-api-key", key.encode())),
            *((b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())),
        ],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": BODY, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await application(scope, receive, send)
    assert sent[0]["status"] == 201, sent


async def main() -> None:
    """Trace the second request, because the first one compiles its statements."""
    from petservice.apikeys.models import APIKey
    from petservice.server.asgi import application

    _, key = await asyncio.to_thread(APIKey.objects.create_key, name="Path")
    await create_pet(application, key)
    tracer = Tracer()
    sys.setprofile(tracer)
    await create_pet(application, key)
    sys.setprofile(None)
    for file, _ in groupby(tracer.files):
        print(file.removeprefix(f"{ROOT}/"))
    application.close()


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "petservice.settings"
    django.setup()
    asyncio.run(main())
