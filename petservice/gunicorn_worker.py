"""gunicorn's threaded worker, answering in the service's one shape what gunicorn itself refuses."""

import socket
import uuid
from typing import Any

from gunicorn import util
from gunicorn.workers.gthread import ThreadWorker

from petservice.api.errors import standard_error_response
from petservice.api.redaction import KeylessFormatter


class JSONErrorWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Requests that never reach Django (no HTTP, too long a line or header, ...) get the error envelope too."""

    def init_process(self) -> None:
        # gunicorn logs a line that it cannot read as it came, and the key may be in it.
        for handler in self.log.error_log.handlers:
            handler.setFormatter(KeylessFormatter(self.log.error_fmt, self.log.datefmt))
        super().init_process()

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        # gunicorn decides what kind of failure it is, and logs it; only what it would write is replaced.
        refusal = _Refusal()
        super().handle_error(req, refusal, addr, exc)
        response = standard_error_response(refusal.status)
        head = (
            f"HTTP/1.1 {response.status_code} {response.reason_phrase}\r\nConnection: close\r\n"
            "Content-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
            f"X-Request-ID: {uuid.uuid4().hex}\r\nContent-Length: {len(response.content)}\r\n\r\n"
        )
        try:
            util.write_nonblock(client, head.encode("ascii") + response.content)
        except OSError:
            self.log.debug("A refused client had gone already.")


class _Refusal:
    """Stands in for the socket and keeps the status of what gunicorn writes to it."""

    status = 400

    def sendall(self, sent: bytes) -> None:
        self.status = int(sent.split(b" ", 2)[1])

    def gettimeout(self) -> float:
        return 0.0

    def __getattr__(self, name: str) -> Any:  # setblocking and what the access log asks for
        return lambda *args: None
