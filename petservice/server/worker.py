"""gunicorn's event-loop worker, with a limit of connections, a heartbeat that stops with a hanging call, and a polite
stop.

Without it, a stop resets kept connections under their clients, and a call of Django that hangs is never noticed.

At SIGTERM the master ends the drain first, if there is one (petservice.server.drain), closes its listeners and sends
SIGTERM to the workers. A worker stops to accept, lets requests that run finish, and gives each response the header
`Connection: close`. It closes idle connections after LAST_REQUEST_TIMEOUT. It exits when no connection and no call is
left, or after gunicorn's `graceful_timeout`, at which the master kills what still runs.

At SIGINT (Ctrl-C) the master does the same without a drain. At another, or at SIGQUIT, requests are cut off.
"""

import asyncio
import logging
import os
import signal
import ssl
import sys
import time
from contextlib import suppress

import uuid_utils
from gunicorn import sock
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

from petservice.monitoring.access_log import AccessLog
from petservice.monitoring.line_writer import LineWriter
from petservice.monitoring.logs import lost_lines
from petservice.server.balancing import Acceptor, WorkerSlot
from petservice.server.limits import LAST_REQUEST_TIMEOUT, REQUEST_TIMEOUT
from petservice.server.priority import PrioritySelector
from petservice.server.protocol import Connection

# Seconds after which a thread lets another run, the loop's for example, which asks several times in a request: with
# Python's own 5 ms a page that is being made would hold up each for many times as long as it takes.
SWITCH_INTERVAL = 0.0001
# Seconds between two looks at all connections.
CHECK_INTERVAL = 1.0


class EventLoopWorker(ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """Serves petservice.server.asgi's application on one event loop."""

    connection_class = Connection
    # Set by the master before the worker begins, see gunicorn_conf.
    slot: WorkerSlot
    # Whether responses from now on are the last of their connections. gunicorn's own `alive` stays true meanwhile:
    # without it a connection ends also after a response that has not said so.
    is_stopping = False

    def init_process(self) -> None:
        self.connections: set[Connection] = set()
        # Here, because a failure ends the start. Later gunicorn would go on without TLS.
        self._tls: ssl.SSLContext | None = sock.ssl_context(self.cfg) if self.cfg.is_ssl else None
        # gunicorn keeps what it finds on the class that asks, and looks for it on its own one.
        ASGIProtocol._check_h1c_protocol_available()
        # Else all workers would continue the random numbers of the process that they are copies of.
        uuid_utils.reseed_rng()
        sys.setswitchinterval(SWITCH_INTERVAL)
        super().init_process()

    def init_signals(self) -> None:
        super().init_signals()
        # Ctrl-C in a terminal reaches the workers as well as the master, which alone decides how they stop.
        self.loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _setup_event_loop(self) -> None:
        self.sockets_by_priority = PrioritySelector()
        self.loop = asyncio.SelectorEventLoop(self.sockets_by_priority)
        asyncio.set_event_loop(self.loop)

    def load_wsgi(self) -> None:
        super().load_wsgi()
        self.asgi.access_log = self._access_log()

    def _access_log(self) -> AccessLog | None:
        """Return the access log as far as one is configured, which only the loaded application can tell."""
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
        return AccessLog(lines, metrics) if lines or metrics else None

    async def _serve(self) -> None:
        from django.conf import settings

        self._stopping = asyncio.Event()
        self.acceptor = Acceptor(
            self.loop,
            [listener.sock for listener in self.sockets],
            self.slot,
            self.cfg.worker_connections,
            lambda: self.connection_class(self),
            self.log,
            tls=self._tls,
            tls_timeout=REQUEST_TIMEOUT,
            set_kind=self.sockets_by_priority.set_kind,
            is_proxy=settings.TRUSTED_PROXIES.trusts,
        )
        while self.alive and not self.is_stopping and self.ppid == os.getppid():
            # A call that hangs stops the heartbeat, so that gunicorn's `timeout` holds for it, too. Not the readiness
            # probe: it hangs while the database is silent, and that is no reason to replace the worker.
            pools = [pool for name, pool in self.asgi.threads.items() if name != "readiness"]
            if all(pool.stalled_for() < 2 * CHECK_INTERVAL for pool in pools):
                self.notify()
            self._check_connections()
            self.acceptor.listen()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), CHECK_INTERVAL)
        await self._stop()

    def _check_connections(self) -> None:
        now = time.monotonic()
        for connection in list(self.connections):
            connection.close_overdue(now)
        access_log = self.asgi.access_log
        if access_log is not None and access_log.metrics is not None:
            access_log.metrics.sample(
                connections=len(self.connections),
                in_flight=access_log.in_flight,
                greenlets=self.asgi.greenlets,
                threads=self.asgi.threads,
            )

    async def _stop(self) -> None:
        """Let requests that run finish, and tell clients that come once more that the connection closes."""
        self.is_stopping = True
        self.acceptor.stop()
        began = time.monotonic()
        while not self._quick_shutdown and (elapsed := time.monotonic() - began) < self.cfg.graceful_timeout:
            # The loop has not yet made connections of those that were accepted in the last moment.
            has_clients = self.connections or (self.acceptor.open and elapsed < LAST_REQUEST_TIMEOUT)
            if not has_clients and not self._has_calls():
                break
            self.notify()
            if elapsed > LAST_REQUEST_TIMEOUT:
                for connection in list(self.connections):
                    connection.close_idle()
            self._check_connections()
            await asyncio.sleep(0.05)
        self.asgi.close()
        for listener in self.sockets:
            listener.sock.close()

    def _has_calls(self) -> bool:
        """Return whether any call runs, also one whose client has left."""
        on_threads = (pool.is_busy for pool in self.asgi.threads.values())
        return any(on_threads) or any(pool.in_use for pool in self.asgi.greenlets.values())

    def handle_exit_signal(self) -> None:
        self.is_stopping = True
        self._stopping.set()

    def handle_quit_signal(self) -> None:
        super().handle_quit_signal()
        self._stopping.set()
