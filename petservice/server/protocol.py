"""Clients' connections: gunicorn's, with deadlines, limits, and refusals in JSON.

Without it, a slow client holds its connection for ever, a stop resets connections under their clients, and what is no
HTTP is answered in HTML. The class overrides methods that gunicorn does not promise to keep, hence the narrow pin in
pyproject.toml; tests/server/test_private_members.py names them.
"""

import asyncio
import socket
import time
from typing import Any

from gunicorn.asgi.protocol import ASGIProtocol

from petservice.api.responses import REQUEST_ID, error_response_for
from petservice.monitoring.access_log import ACCESS_RECORD
from petservice.server.limits import LINGER, MAX_PIECE_BYTES, MIN_BYTES_PER_SECOND, REQUEST_TIMEOUT
from petservice.server.priority import CLIENT_KIND, STRANGER
from petservice.server.requests import sent_request_id


class Connection(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """A client's connection."""

    # gunicorn's own: whether the connection has ended, or is to end; what reads its requests, the one whose head has
    # arrived, and what serves them.
    _closed: bool
    _callback_parser: Any
    _current_request: Any
    _task: asyncio.Task[None]
    # When the request that is arriving began; None between requests. A client that connects and says nothing is
    # as slow as one that stops in the middle.
    began: float | None = None
    is_on_unix_socket = False
    received = 0
    # Whether the request that is being handled has arrived whole.
    is_whole = False
    # The number of its socket.
    descriptor: int
    # Whether the response to the request that arrived last has begun.
    has_responded = False
    # Since when the client has taken nothing of the response.
    stalled_since: float | None = None
    lingering_since: float | None = None
    # Of the request that is being handled.
    scope: dict[str, Any] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.began = time.monotonic()
        self.worker.connections.add(self)
        self.descriptor = transport.get_extra_info("socket").fileno()
        super().connection_made(transport)
        self.is_on_unix_socket = transport.get_extra_info("socket").family == socket.AF_UNIX
        if not self.is_on_unix_socket and transport.get_extra_info("peername") is None:
            # The client reset the connection before it was accepted. It would take no response, and gunicorn takes a
            # client without an address for a trusted proxy on a unix socket.
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.worker.connections.discard(self)
        self.worker.acceptor.connection_ended(self.descriptor)
        if self._awaiting_request:
            self._request_ready.set()  # to end at once; gunicorn would wait for some seconds
        self._task.add_done_callback(self._release_parser)

    def _release_parser(self, _: object) -> None:
        # The parser has methods of this object, and Python's collector does not see into it: both would stay for ever.
        self._callback_parser = None

    def data_received(self, data: bytes) -> None:
        if self.lingering_since is not None:
            return
        if self.began is None and self._current_request is None:  # else it has its time when the earlier one has ended
            self.began = time.monotonic()
        self.received += len(data)
        for start in range(0, len(data), MAX_PIECE_BYTES):
            super().data_received(data[start : start + MAX_PIECE_BYTES])
            if self._closed:
                return

    def _on_headers_complete(self) -> bool:
        if self.began is None:  # it came together with the request before
            self.began = time.monotonic()
        self.is_whole = False
        self.has_responded = False
        self.scope = {}
        return bool(super()._on_headers_complete())

    def _on_message_complete(self) -> None:
        self.is_whole = True
        self.began = None
        self.received = 0
        super()._on_message_complete()

    def pause_writing(self) -> None:
        self.stalled_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.stalled_since = None
        super().resume_writing()

    def _build_http_scope(self, *args: Any) -> dict[str, Any]:
        self.scope = super()._build_http_scope(*args)
        if self.is_on_unix_socket:
            self.scope["client"] = None  # a client there may have a name, which is no address
        return self.scope

    def _will_close(self, request: Any, response_requires_close: bool) -> bool:
        # Not once the client has been told otherwise: it may have sent the next request already.
        is_last = self.worker.is_stopping and not self.has_responded
        # The rest of a request that has not arrived whole is nothing to begin the next one with.
        return is_last or not self.is_whole or bool(super()._will_close(request, response_requires_close))

    def _is_websocket_upgrade(self, request: Any) -> bool:
        return False  # answered as if it had not asked

    def _send_response_start(self, *args: Any, **options: Any) -> None:
        self.has_responded = True
        self.worker.sockets_by_priority.set_kind(self.descriptor, self.scope.get(CLIENT_KIND, STRANGER))
        super()._send_response_start(*args, **options)

    def _send_error_response(self, status: int, message: str, extra_headers: Any = ()) -> None:
        request = self._current_request
        if request is None:  # its head has not arrived whole; the scope is that of the request before
            self.scope = {}
        elif self.has_responded:
            return  # a second response would be read as that to another request
        elif REQUEST_ID not in self.scope:  # it is refused before the application was called
            self.scope = {REQUEST_ID: sent_request_id(request.headers_bytes)}
        self.has_responded = True
        self.log.debug("A request was refused with %s: %s", status, message)
        response = error_response_for(status, self.scope.get(REQUEST_ID, ""))
        self._log_refusal(response.status_code, response["X-Request-ID"])
        head = f"HTTP/1.1 {response.status_code} {response.reason_phrase}\r\nConnection: close\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in response.items())
        self._safe_write(f"{head}\r\n".encode("latin-1") + response.content)

    def _log_refusal(self, status: int, request_id: str) -> None:
        access_log = self.worker.asgi.access_log
        record = self.scope.get(ACCESS_RECORD)
        if record is not None:  # the application's, which it writes in the end
            record.responded(status)
        elif access_log is not None:
            peer = self.transport.get_extra_info("peername")
            access_log.refused(status, request_id, peer[0] if peer else "", self.began or time.monotonic())

    def _close_transport(self) -> None:
        if self._closed:
            return
        self._closed = True
        if not self.received:
            # Not gunicorn's own, which does not get to this if the client has reset the connection.
            self.transport.close()
            return
        self.lingering_since = time.monotonic()
        if self._body_receiver is not None:
            self._body_receiver.signal_disconnect()
        try:
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self._resume_reading()
        except OSError:  # the client has gone already
            self.transport.abort()

    def close_overdue(self, now: float) -> None:
        """End the connection if its client takes too long, with a response if there is something to respond to."""
        if self.lingering_since is not None:
            if now - self.lingering_since > LINGER:
                self.transport.abort()
        elif self.stalled_since is not None:
            if now - self.stalled_since > REQUEST_TIMEOUT:
                self.transport.abort()
        elif self.began is not None and now - self.began > REQUEST_TIMEOUT + self.received / MIN_BYTES_PER_SECOND:
            if self.received:
                self._send_error_response(408, "The request took too long.")
            self.transport.close()
            self._closed = True

    def close_idle(self) -> None:
        """End the connection if no request is under way on it."""
        if self._awaiting_request and not (self.began is not None and self.received):
            self._close_transport()
