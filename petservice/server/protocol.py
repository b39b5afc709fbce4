"""gunicorn's client connections with deadlines, limits, and error responses in JSON.

Without this module, a slow client holds its connection forever, a stop resets open connections, and invalid HTTP gets
an HTML response. The class overrides private methods of gunicorn, so pyproject.toml pins the minor version.
tests/server/test_private_members.py names these methods.
"""

import asyncio
import socket
import time
from typing import Any

from gunicorn.asgi.protocol import ASGIProtocol

from petservice.middleware import REQUEST_ID, error_response_for
from petservice.monitoring.access_log import ACCESS_RECORD
from petservice.monitoring.redaction import echo
from petservice.server.limits import LINGER, MAX_PIECE_BYTES, MIN_BYTES_PER_SECOND, REQUEST_TIMEOUT
from petservice.server.messages import sent_request_id


class Connection(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """A connection of one client."""

    # Attributes of gunicorn: whether the connection is closed or closing, its parser, the request whose headers have
    # arrived, and the task that handles requests.
    _closed: bool
    _callback_parser: Any
    _current_request: Any
    _task: asyncio.Task[None]
    # The time when the current request began to arrive; None between requests. A new connection counts from its start.
    began: float | None = None
    is_on_unix_socket = False
    received = 0
    # Whether the current request is a HEAD, for a refusal before the parser has reported its headers.
    is_head = False
    # Whether the request in progress has arrived completely.
    is_whole = False
    # The file descriptor of the socket.
    descriptor: int
    # Whether the response to the latest request has begun.
    has_responded = False
    # The time since which the client has read nothing of the response.
    stalled_since: float | None = None
    lingering_since: float | None = None
    # The scope of the request in progress.
    scope: dict[str, Any] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.began = time.monotonic()
        self.worker.connections.add(self)
        self.descriptor = transport.get_extra_info("socket").fileno()
        self._socket_transport = _transport_of_socket(transport)
        super().connection_made(transport)
        self.is_on_unix_socket = transport.get_extra_info("socket").family == socket.AF_UNIX
        if not self.is_on_unix_socket and transport.get_extra_info("peername") is None:
            # The client reset the connection before it was accepted. gunicorn would take a client without an address
            # for a trusted proxy on a unix socket.
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.worker.connections.discard(self)
        self.worker.acceptor.connection_ended(self.descriptor)
        if self._awaiting_request:
            self._request_ready.set()  # ends the task now; gunicorn would wait for some seconds
        self._task.add_done_callback(self._release_parser)
        # asyncio's transport has a method of itself. Only the garbage collector could free both, and it interrupts all
        # requests for milliseconds while strangers open thousands of connections a second.
        self._socket_transport._read_ready_cb = None

    def _release_parser(self, _: object) -> None:
        # The parser has methods of this object, and Python's collector does not see into it: both would stay for ever.
        self._callback_parser = None
        # It refers to this object. gunicorn keeps it if the client leaves before the end of the response.
        self._body_receiver = None

    def data_received(self, data: bytes) -> None:
        if self.lingering_since is not None:
            return
        if self.began is None and self._current_request is None:  # else it has its time when the earlier one has ended
            self.began = time.monotonic()
        if not self.received:
            self.is_head = data.startswith(b"HEAD ")
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
            self.scope["client"] = None  # a client on a unix socket may have a path as its name
        return self.scope

    def _will_close(self, request: Any, response_requires_close: bool) -> bool:
        # Not after the response headers: they allowed a further request, which may be on its way.
        is_last = self.worker.is_stopping and not self.has_responded
        # The rest of an incomplete request must not be read as the next request.
        return is_last or not self.is_whole or bool(super()._will_close(request, response_requires_close))

    def _is_websocket_upgrade(self, request: Any) -> bool:
        return False  # so that the request is handled as an ordinary one

    def _send_response_start(self, *args: Any, **options: Any) -> None:
        self.has_responded = True
        super()._send_response_start(*args, **options)

    def _send_error_response(self, status: int, message: str, extra_headers: Any = ()) -> None:
        request = self._current_request
        if request is None:  # the headers are incomplete, and the scope is that of the previous request
            self.scope = {}
        elif self.has_responded:
            return  # a second response would be read as the response to another request
        elif REQUEST_ID not in self.scope:  # the request is refused before the application is called
            self.scope = {REQUEST_ID: sent_request_id(request.headers_bytes)}
        self.has_responded = True
        response = error_response_for(status, self.scope.get(REQUEST_ID, ""))
        # The message can contain what the client has sent.
        self.log.warning("The request %s was refused: %s", response["X-Request-ID"], echo(message))
        self._log_refusal(response.status_code, response["X-Request-ID"])
        head = f"HTTP/1.1 {response.status_code} {response.reason_phrase}\r\nConnection: close\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in response.items())
        is_head = self.is_head if request is None else request.method == "HEAD"
        self._safe_write(f"{head}\r\n".encode("latin-1") + (b"" if is_head else response.content))

    def _log_refusal(self, status: int, request_id: str) -> None:
        access_log = self.worker.asgi.access_log
        record = self.scope.get(ACCESS_RECORD)
        if record is not None:  # the application will write this record
            record.status = status
        elif access_log is not None:
            peer = self.transport.get_extra_info("peername")
            access_log.refused(status, request_id, peer[0] if peer else "", self.began or time.monotonic())

    def _close_transport(self) -> None:
        if self._closed:
            return
        self._closed = True
        if not self.received:
            # Without gunicorn's method, which fails to close a connection that the client has reset.
            self.transport.close()
            return
        self.lingering_since = time.monotonic()
        if self._body_receiver is not None:
            self._body_receiver.signal_disconnect()
        try:
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self._resume_reading()
        except OSError:  # the client has disconnected
            self.transport.abort()

    def close_overdue(self, now: float) -> None:
        """Close the connection if its client is too slow, with an error response if a request has begun."""
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
        """Close the connection if no request is in progress."""
        if self._awaiting_request and not (self.began is not None and self.received):
            self._close_transport()


def _transport_of_socket(transport: Any) -> Any:
    """Return asyncio's transport that reads the socket. With TLS, it is below that of the connection."""
    tls = getattr(transport, "_ssl_protocol", None)
    return transport if tls is None else tls._transport
