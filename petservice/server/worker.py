"""gunicorn's event-loop worker, with what a service in the open needs of it: deadlines, limits, and errors in JSON.

It overrides methods that gunicorn does not promise to keep, hence the narrow pin in pyproject.toml; tests/running says
whether a newer release still does what this relies on.
"""

import asyncio
import faulthandler
import logging
import os
import socket
import ssl
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

import uuid_utils
from django.http import HttpResponse
from gunicorn import sock
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

from petservice.api.responses import refusal
from petservice.monitoring.access_log import OBSERVATION, Observation, Observer
from petservice.monitoring.line_writer import LineWriter
from petservice.monitoring.logs import lost_lines
from petservice.server.balancing import Given, Share

# Seconds for a request to arrive, from its first byte to its last, and in which its client must take some of the
# answer. A body has the longer the more of it there is, at this many bytes a second; so large uploads are possible.
REQUEST_DEADLINE = 20
LEAST_RATE = 16 * 1024
# Bytes of a request that may lead to nothing: to no end of its head, nor to any of its body. The parser keeps them.
MOST_UNREAD = 64 * 1024
# Bytes that the parser is given at once where there may be chunks: it moves all the rest for each of them.
PIECE = 4 * 1024
# Seconds in which a client that is refused may still send before it is cut off. Closed at once, the connection would
# be reset under a client that still sends, and the answer lost.
LINGER = 10
# Seconds, when the worker stops, in which a client may use a kept connection once more and be told that it closes.
LAST_CALL = 1.5
# Seconds after which a thread lets another run, the loop's for example, which asks several times in a request: with
# Python's own 5 ms a page that is being made would hold up each for many times as long as it takes.
SWITCH_INTERVAL = 0.0001
# Seconds in which a worker looks for connections that another has given to it. After that it may hang.
PROMPT = 0.1
# Seconds between two looks at all connections.
_BEAT = 1.0


class Connection(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """A client's connection: gunicorn's, with a deadline, a close that loses no answer, and errors in JSON."""

    # gunicorn's own: whether the connection has ended, or is to end; what reads its requests, and what serves them.
    _closed: bool
    _callback_parser: Any
    _task: asyncio.Task[None]
    # When the request that is arriving began; None between requests. A client that connects and says nothing is
    # as slow as one that stops in the middle.
    began: float | None = None
    received = 0
    # Bytes since the last that led to something, see MOST_UNREAD.
    unread = 0
    # Whether the client has ended its half of the connection.
    is_half_closed = False
    # Whether the answer to the request that is arriving has begun.
    is_answered = False
    # Since when the client has been taking nothing of the answer, or has been let send what nobody reads.
    stalled: float | None = None
    lingering: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.began = time.monotonic()
        self.worker.connections.add(self)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.worker.connections.discard(self)
        self.worker.connection_ended()
        if self._awaiting_request:
            self._request_ready.set()  # to end at once; gunicorn would wait for some seconds
        self._task.add_done_callback(self._let_go)

    def _let_go(self, _: object) -> None:
        # The parser has methods of this object, and Python's collector does not see into it: both would stay for ever.
        self._callback_parser = None

    def data_received(self, data: bytes) -> None:
        if self.lingering is not None:
            return
        if self.began is None:
            self.began = time.monotonic()
        self.received += len(data)
        while len(data) > PIECE and (self._body_receiver is None or self._callback_parser.is_chunked):
            piece, data = data[:PIECE], data[PIECE:]
            self._take(piece)
            if self._closed:
                return
        self._take(data)

    def _take(self, data: bytes) -> None:
        self.unread += len(data)
        super().data_received(data)
        # What is sent behind a whole request waits for its turn, and is bounded by gunicorn.
        if self.unread > MOST_UNREAD and not self._closed and not self._callback_parser.is_complete:
            self._send_error_response(431, "Too much of the request leads to nothing.")
            self._close_transport()

    def eof_received(self) -> bool:
        # A client may end its half and still read: `curl` does not, `nc -N` and many a script do.
        self.is_half_closed = True
        if self.lingering is not None or self._awaiting_request or self._is_ssl:
            return False
        if self.began is not None and self._body_receiver is not None:
            self._body_receiver.signal_disconnect()
        return True

    def _on_headers_complete(self) -> bool:
        if self.began is None:  # it came together with the request before
            self.began = time.monotonic()
        self.is_answered = False
        self.unread = 0
        return bool(super()._on_headers_complete())

    def _on_body(self, chunk: bytes) -> None:
        self.unread = 0
        super()._on_body(chunk)

    def _on_message_complete(self) -> None:
        self.unread = 0
        self.began = None
        self.received = 0
        super()._on_message_complete()

    def pause_writing(self) -> None:
        self.stalled = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.stalled = None
        super().resume_writing()

    def _will_close(self, request: Any, response_requires_close: bool) -> bool:
        # Not once the client has been told otherwise: it may have sent the next request already.
        is_last = self.worker.is_stopping and not self.is_answered
        # What is still to come of the request is nothing to begin the next one with.
        is_cut = self.began is not None or self.is_half_closed
        return is_last or is_cut or bool(super()._will_close(request, response_requires_close))

    def _is_websocket_upgrade(self, request: Any) -> bool:
        return False  # answered as if it had not asked

    def _send_response_start(self, *args: Any, **options: Any) -> None:
        self.is_answered = True
        super()._send_response_start(*args, **options)

    def _send_error_response(self, status: int, message: str, extra_headers: Any = ()) -> None:
        if self.is_answered:
            return  # a second answer would be read as that to another request
        self.is_answered = True
        self.log.debug("A request was refused with %s: %s", status, message)
        response = refusal(status)
        self.note_refusal(response)
        head = f"HTTP/1.1 {response.status_code} {response.reason_phrase}\r\nConnection: close\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in response.items())
        self._safe_write(f"{head}\r\n".encode("latin-1") + response.content)

    def note_refusal(self, response: HttpResponse) -> None:
        """Called with what the server itself answers."""

    def _arm_keepalive_timer(self) -> None:
        if self.is_half_closed:
            # It was not when its answer began, or that would have been the end. Nothing more can come.
            self._keepalive_timeout()
        else:
            super()._arm_keepalive_timer()

    def _close_transport(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self.began is None or not self.received or self.is_half_closed:
            # Not gunicorn's own, which does not get to this if the client has reset the connection.
            self.transport.close()
            return
        self.lingering = time.monotonic()
        if self._body_receiver is not None:
            self._body_receiver.signal_disconnect()
        try:
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self._resume_reading()
        except OSError:  # the client has gone already
            self.transport.abort()

    def close_overdue(self, now: float) -> None:
        """End the connection if its client takes too long: with an answer if there is something to be answered."""
        if self.lingering is not None:
            if now - self.lingering > LINGER:
                self.transport.abort()
        elif self.stalled is not None:
            if now - self.stalled > REQUEST_DEADLINE:
                self.transport.abort()
        elif self.began is not None and now - self.began > REQUEST_DEADLINE + self.received / LEAST_RATE:
            if self.received:
                self._send_error_response(408, "The request took too long.")
            self.transport.close()
            self._closed = True

    def close_idle(self) -> None:
        """End the connection if no request is under way on it."""
        if self._awaiting_request and not (self.began is not None and self.received):
            self._close_transport()


class ObservedConnection(Connection):
    """A connection of which each request is noted once, with the answer that its client gets."""

    # Of the request that is being answered.
    observation: Observation | None = None

    async def _handle_http_request(self, request: Any, *args: Any, **options: Any) -> Any:
        observer = self.worker.observer
        observation = self.observation = observer.begin(request.method)
        try:
            return await super()._handle_http_request(request, *args, **options)
        finally:
            if self.observation is observation:
                self.observation = None
            observer.end(observation)

    def _build_http_scope(self, *args: Any) -> Any:
        scope = super()._build_http_scope(*args)
        scope[OBSERVATION] = self.observation
        return scope

    def _send_response_start(self, status: int, headers: Any, *args: Any, **options: Any) -> None:
        if self.observation is not None:
            self.observation.was_answered(status, headers)
        super()._send_response_start(status, headers, *args, **options)

    def note_refusal(self, response: HttpResponse) -> None:
        if self.observation is not None:
            headers = [(name.encode(), value.encode()) for name, value in response.items()]
            self.observation.was_answered(response.status_code, headers)
        else:
            peer = self.transport.get_extra_info("peername")
            self.worker.observer.refused(
                response.status_code,
                response["X-Request-ID"],
                peer[0] if peer else "",
                self.began or time.monotonic(),
            )


class EventLoopWorker(ASGIWorker):  # type: ignore[misc]
    """Serves petservice.server.asgi's application on one event loop."""

    observer: Observer | None = None
    # Set by the master before the worker begins, see gunicorn_conf.
    share: Share
    # Whether answers from now on are the last of their connections. gunicorn's own `alive` stays true meanwhile:
    # without it a connection ends also after an answer that has not said so.
    is_stopping = False

    def init_process(self) -> None:
        self.connections: set[Connection] = set()
        # Those that have been accepted; a TLS handshake counts, too.
        self._open = 0
        self._listens = False
        # Whether it gives connections to others: not, after one had to be taken back, before the next beat.
        self._gives = True
        self._tasks: set[asyncio.Task[None]] = set()
        # Here, because a failure ends the start. Later gunicorn would go on without TLS.
        self._tls: ssl.SSLContext | None = sock.ssl_context(self.cfg) if self.cfg.is_ssl else None
        # gunicorn keeps what it finds on the class that asks, and looks for it on its own one.
        ASGIProtocol._check_h1c_protocol_available()
        # Else all workers would go on with what the process that they are copies of has for random numbers.
        uuid_utils.reseed_rng()
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._observe()
        super().init_process()

    def _observe(self) -> None:
        """Log and count requests as far as that is configured, which cannot be read before the application is there."""
        from django.conf import settings

        lines = metrics = None
        if settings.LOG_FORMAT == "json":
            lines = LineWriter(sys.stderr.fileno(), lost_lines)
            for handler in (*logging.root.handlers, *self.log.error_log.handlers):
                # Only what goes there anyway: files are files.
                if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
                    handler.setStream(lines)
        if settings.METRICS_ADDRESS is not None:
            from petservice.monitoring.metrics import Metrics

            metrics = Metrics()
        if lines or metrics:
            self.observer = Observer(lines, metrics)
        self._connection = ObservedConnection if self.observer else Connection

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        for listener in self.sockets:
            listener.sock.setblocking(False)
        while self.alive and not self.is_stopping and self.ppid == os.getppid():
            # A call that stands still stops the heart: gunicorn's `timeout` holds for it, too.
            if all(threads.standstill() < 2 * _BEAT for threads in self.asgi.threads):
                self.notify()
            now = time.monotonic()
            for connection in list(self.connections):
                connection.close_overdue(now)
            self._gives = True
            self._listen()
            self._look()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _BEAT)
        await self._stop()

    def _look(self) -> None:
        if self.observer is not None and self.observer.metrics is not None:
            self.observer.metrics.look(
                connections=len(self.connections),
                in_flight=self.observer.in_flight,
                lanes={name: (lanes.number, lanes.in_use) for name, lanes in self.asgi.lanes.items()},
                threads={threads.name: (threads.number, threads.busy) for threads in self.asgi.threads},
            )

    def _listen(self) -> None:
        """Accept connections up to the limit, and leave the others to another worker, or to the kernel's queue."""
        listens = not self.is_stopping and self._open < self.cfg.worker_connections
        self.share.note(self._open if listens else None)
        if listens != self._listens:
            self._listens = listens
            if self.share.channel is not None:
                if listens:
                    self.loop.add_reader(self.share.channel, self._take_given)
                else:
                    self.loop.remove_reader(self.share.channel)
            for listener in self.sockets:
                if listens:
                    self.loop.add_reader(listener.sock, self._accept, listener.sock)
                else:
                    self.loop.remove_reader(listener.sock)

    def _accept(self, listener: socket.socket) -> None:
        """Accept a connection, and serve it or give it to the worker that has the fewest."""
        self._take_given()  # which count
        if not self._listens:
            return
        # One at a time: one that took all that wait would have to give most of them away.
        try:
            accepted, _ = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:  # too many open files, say; tried again at the next beat
            self.log.error("No connection could be accepted: %s", error)
            self._listens = False
            self.share.note(None)
            for other in self.sockets:
                self.loop.remove_reader(other.sock)
            return
        given = self.share.give(accepted, self._open) if self._gives else None
        if given is None:
            self._begin(accepted)
        else:
            self.loop.call_later(PROMPT, self._take_back, given)

    def _take_given(self) -> None:
        for connection in self.share.take():
            self._begin(connection)
            if not (self._listens or self.is_stopping):
                break  # the others wait for room

    def _take_back(self, given: Given) -> None:
        """Serve what waits for another worker, if that has not looked since it was given a connection."""
        for connection in self.share.take_back(given):
            self._gives = False
            self._begin(connection)

    def _begin(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        self._open += 1
        self._listen()
        task = self.loop.create_task(self._connect(accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        timeout = REQUEST_DEADLINE if self._tls else None
        try:
            await self.loop.connect_accepted_socket(
                lambda: self._connection(self), accepted, ssl=self._tls, ssl_handshake_timeout=timeout
            )
        except (OSError, asyncio.CancelledError):  # no TLS, or gone before the handshake
            accepted.close()
            self.connection_ended()

    def connection_ended(self) -> None:
        """Make room for another."""
        self._open -= 1
        self._listen()

    async def _stop(self) -> None:
        """Let requests that run finish, and tell clients that come once more that the connection closes."""
        self.is_stopping = True
        self._listens = True
        self._listen()
        began = time.monotonic()
        while not self._quick_shutdown and (elapsed := time.monotonic() - began) < self.cfg.graceful_timeout:
            self._take_given()
            # Of those that were accepted in the last moment the loop has not made connections yet.
            is_anyone_there = self.connections or (self._open and elapsed < LAST_CALL)
            if not is_anyone_there and not any(threads.are_busy for threads in self.asgi.threads):
                break
            self.notify()
            for connection in list(self.connections):
                if elapsed > LAST_CALL:
                    connection.close_idle()
                connection.close_overdue(time.monotonic())
            self._look()
            await asyncio.sleep(0.05)
        self.asgi.close()
        for listener in self.sockets:
            listener.sock.close()

    def handle_exit_signal(self) -> None:
        self.is_stopping = True
        self._stopping.set()

    def handle_quit_signal(self) -> None:
        super().handle_quit_signal()
        self._stopping.set()

    def handle_abort_signal(self) -> None:
        # gunicorn's, before it kills a worker whose heart has stopped. This shows where it hangs.
        with tempfile.TemporaryFile() as file:
            faulthandler.dump_traceback(file, all_threads=True)
            file.seek(0)
            self.log.error("The worker hangs:\n%s", file.read().decode(errors="replace"))
        super().handle_abort_signal()
