"""A client's connection: HTTP/1.1 with a deadline for each state, a bound on what waits in memory, and errors in JSON.

gunicorn's parser reads the requests. Its own connections have no deadline for a request, answer malformed HTTP in HTML,
and keep a client waiting that has been refused.
"""

import asyncio
import time
from collections.abc import Callable
from enum import Enum, auto
from http import HTTPStatus
from typing import Any

from gunicorn_h1c import H1CProtocol, LimitRequestHeaders, LimitRequestLine

from petservice.api.errors import standard_error_response
from petservice.client_address import shown_address
from petservice.middleware import request_id_of, with_standard_headers
from petservice.monitoring.access_log import INVALID_REQUEST, AccessRecord
from petservice.monitoring.counters import count
from petservice.monitoring.logs import request_id
from petservice.monitoring.redaction import echo
from petservice.server import limits
from petservice.server.messages import Response, Scope, encoded, head


class State(Enum):
    """What a connection waits for. Each state has one deadline, or none."""

    # A request. At the deadline, the client has lost interest.
    IDLE = auto()
    # The rest of a request. The response may have begun.
    RECEIVING = auto()
    # The application, which has no deadline here.
    RESPONDING = auto()
    # The client, which reads nothing of the response.
    STALLED = auto()
    # The client, which gets no further response. Until it leaves, all that it sends is dropped, because closing the
    # connection earlier would reset it, and the last response would be lost.
    LINGERING = auto()


class Connection(asyncio.Protocol):
    """A connection of one client."""

    _transport: Any  # asyncio's or uvloop's
    _parser: Any
    # The request that arrives or is handled; None between requests and until its headers are complete.
    _scope: Scope | None = None
    task: asyncio.Task[None] | None = None
    # The time when the request began to arrive.
    _began = 0.0
    _is_head = False
    _expects_continue = False
    # Whether the response has begun, and whether it is the last one.
    _has_responded = False
    _is_last = False

    def __init__(self, worker: Any, client: tuple[str, int] | None, ended: Callable[[], object]) -> None:
        """Create the connection of an EventLoopWorker with a client; one on a unix socket has no address."""
        self._worker = worker
        self._client = client
        self._ended = ended
        # The bytes that followed a complete request, and the part of a body that the application has not received.
        # The latter can grow by thousands of chunks, each of which would copy it if it were immutable.
        self._unread, self._body = b"", bytearray()
        # Whether more of the body has arrived, or its end, and whether the client reads.
        self._more, self._writable = asyncio.Event(), asyncio.Event()
        self._writable.set()
        self._enter(State.IDLE, limits.REQUEST_TIMEOUT)

    def _enter(self, state: State, seconds: float | None) -> None:
        self.state = state
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._server = transport.get_extra_info("sockname")
        self._scheme = "https" if transport.get_extra_info("ssl_object") else "http"
        self._parser = H1CProtocol(
            on_headers_complete=self._headers_complete,
            on_body=self._body_received,
            on_message_complete=self._request_complete,
            limit_request_line=limits.MAX_REQUEST_LINE,
            limit_request_fields=limits.MAX_HEADERS,
            limit_request_field_size=limits.MAX_HEADER_BYTES,
        )
        self._worker.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._worker.connections.discard(self)
        self._ended()
        self._cancel()
        # It refers to methods of this object, so only the garbage collector could free both. While strangers open
        # thousands of connections a second, that would interrupt all requests for milliseconds.
        self._parser = None

    # Requests.

    def data_received(self, data: bytes) -> None:
        if self.state is State.LINGERING:
            return
        if self.state is State.IDLE:
            if data == b"\r\n":  # an empty line, which some clients send after a body and which begins no request
                return
            self._enter(State.RECEIVING, limits.REQUEST_TIMEOUT)
            self._began = time.monotonic()
            self._is_head = data.startswith(b"HEAD ")
        if self._parser.is_complete:  # it waits for the response to the request before
            self._unread += data
            if len(self._unread) > limits.MAX_UNREAD_BYTES:
                self._transport.pause_reading()
            return
        if self._deadline is not None and self.state is State.RECEIVING:
            self._deadline += len(data) / limits.MIN_BYTES_PER_SECOND
        self._parse(data)

    def _parse(self, data: bytes) -> None:
        position = 0
        try:
            while position < len(data) and self.state is not State.LINGERING and not self._parser.is_complete:
                self._parser.feed(data[position : position + limits.MAX_PIECE_BYTES])
                position += limits.MAX_PIECE_BYTES
        except LimitRequestLine as error:
            self._refuse(414, str(error))
        except LimitRequestHeaders as error:
            self._refuse(431, str(error))
        except Exception as error:  # the parser has several unrelated classes for malformed requests
            self._refuse(400, str(error))
        else:
            if self._parser.is_complete:
                self._unread = self._parser.remaining() + data[position:]

    def _headers_complete(self) -> None:
        scope = self._scope = Scope(self._parser, self._scheme, self._server, self._client)
        self._is_head, self._is_last = scope.method == "HEAD", scope.is_last
        expected = self._parser.get_header(b"expect") or b""
        self._expects_continue = expected.lower() == b"100-continue" and self._parser.http_version >= (1, 1)
        self.task = self._worker.loop.create_task(self._respond(scope))

    def _body_received(self, part: bytes) -> None:
        self._body += part
        if len(self._body) > limits.MAX_UNREAD_BYTES:
            self._transport.pause_reading()
        self._more.set()

    def _request_complete(self) -> None:
        if self.state is State.RECEIVING:
            self._enter(State.RESPONDING, None)
        self._more.set()

    async def receive(self) -> bytes:
        """Return the next part of the body, or nothing at its end. The task ends here if the client leaves before."""
        if not self._body and not self._parser.is_complete:
            if self._expects_continue and not self._has_responded:
                self._expects_continue = False
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._more.clear()
            await self._more.wait()
        part, self._body = bytes(self._body), bytearray()
        self._transport.resume_reading()
        return part

    # Responses.

    async def _respond(self, scope: Scope) -> None:
        scope.started = time.monotonic()
        try:
            self._worker.access_log.begin_trace(scope, scope.headers)
            try:
                await self._send(scope, await self._worker.application.respond(scope, self.receive))
            except Exception:
                scope.status = scope.status or 500
                raise
            finally:
                self._worker.access_log.end(scope)
        except Exception:
            self._worker.log.exception("A request failed.")
        self.task = None
        self._worker.nr += 1
        if not self._has_responded:
            self._refuse(500, "It has no response.")
        elif self._is_last:
            self._close()
        else:
            self._next()

    def _next(self) -> None:
        """Begin with the next request."""
        self._parser.reset()
        self._scope, self._body = None, bytearray()
        self._has_responded = False
        self._enter(State.IDLE, self._worker.cfg.keepalive)
        self._transport.resume_reading()
        data, self._unread = self._unread, b""
        if data:
            self.data_received(data)

    async def _send(self, scope: Scope, response: Response) -> None:
        """Send a response. Each piece of a large one is sent in its own step of the event loop."""
        status, headers, body = response
        scope.status = status
        self._is_last = bool(
            self._is_last
            or self._worker.is_stopping
            or not self._worker.cfg.keepalive
            # The rest of an incomplete request must not be read as the next request.
            or not self._parser.is_complete
        )
        self._has_responded = True
        if self._is_head:
            body = b""
        first = head(status, headers, is_last=self._is_last)
        for start in range(0, len(body) or 1, limits.RESPONSE_PIECE_BYTES):
            if start > 0:
                await asyncio.sleep(0)
            self._transport.write(first + body[start : start + limits.RESPONSE_PIECE_BYTES])
            first = b""
            if not self._writable.is_set():
                self._enter(State.STALLED, limits.REQUEST_TIMEOUT)
                await self._writable.wait()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # Ends.

    def _refuse(self, status: int, cause: str) -> None:
        """Send an error response without the application, and close the connection."""
        self._cancel()
        if not self._has_responded:  # a second response would be read as the response to another request
            self._has_responded = True
            count("refusals", HTTPStatus(status).name.lower())
            scope = self._scope
            record = scope if scope is not None and scope.started else AccessRecord()
            if not record.request_id:
                sent = self._parser.get_header(b"x-request-id") or b""
                record.request_id = request_id_of({"HTTP_X_REQUEST_ID": sent.decode("latin-1")})
            response = with_standard_headers(standard_error_response(status), record.request_id)
            token = request_id.set(record.request_id)  # the context is that of another request, or of none
            self._worker.log.warning("A request was refused: %s", echo(cause))  # which can contain what was sent
            request_id.reset(token)
            record.status = response.status_code
            if not record.started:  # otherwise its task will write this record
                record.started, record.route = self._began, INVALID_REQUEST
                record.address = shown_address(self._client[0] if self._client else None, "")
                self._worker.access_log.end(record)
            status, headers, body = encoded(response)
            self._transport.write(head(status, headers, is_last=True) + (b"" if self._is_head else body))
        self._close()

    def _cancel(self) -> None:
        """Stop the application, unless a thread has begun with the request."""
        if self.task is not None:
            self.task.cancel()
            self.task = None

    def _close(self) -> None:
        """Close the connection, at once if the client has sent nothing that has not been read."""
        has_all = self.state is State.IDLE or (self._parser.is_complete and not self._unread)
        self._enter(State.LINGERING, limits.LINGER)
        if has_all:
            self._transport.close()
            return
        try:
            if self._transport.can_write_eof():
                self._transport.write_eof()
            self._transport.resume_reading()
        except OSError:  # the client has disconnected
            self._transport.abort()

    def close_idle(self) -> None:
        """Close the connection if no request is in progress."""
        if self.state is State.IDLE:
            self._close()

    def close_overdue(self, now: float) -> None:
        """Close the connection if its deadline has passed, with an error response if a request has begun."""
        if self._deadline is None or now <= self._deadline:
            return
        if self.state is State.RECEIVING and len(self._body) > limits.MAX_UNREAD_BYTES:
            self._deadline = now + limits.REQUEST_TIMEOUT  # the client waits, until the application takes the body
        elif self.state is State.RECEIVING:
            self._refuse(408, "The request took too long.")
        elif self.state is State.IDLE:
            self._close()
        else:
            self._transport.abort()
