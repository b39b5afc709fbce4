"""gunicorn's worker process with a connection limit, a heartbeat for blocked requests, and a graceful stop.

Without this module, a stop resets idle connections while clients use them, and a blocked request is never noticed.

The stop at SIGTERM: The master first waits for the drain, if there is one (petservice.server.drain). Then it closes its
listeners and sends SIGTERM to the workers. A worker accepts no more connections, lets running requests finish, and adds
`Connection: close` to each response. It closes idle connections after LAST_REQUEST_TIMEOUT. It exits when it has no
connection and no running request, and has written the use of API keys. After gunicorn's `graceful_timeout`, the master
kills workers that still run.

At SIGINT (Ctrl-C) the master does the same without a drain. A second SIGINT, or SIGQUIT, cuts off running requests.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

import uuid_utils
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

from petservice.monitoring.access_log import AccessLog
from petservice.monitoring.exporter import reserve_space
from petservice.monitoring.line_writer import LineWriter
from petservice.server.balancing import Acceptor, WorkerSlot
from petservice.server.certificate import Certificate
from petservice.server.limits import LAST_REQUEST_TIMEOUT
from petservice.server.protocol import Connection

if TYPE_CHECKING:
    from petservice.fastpath.application import FastPath
    from petservice.monitoring.metrics import Metrics

# Seconds after which Python switches between threads. The event loop waits for this several times during a request.
# With Python's default of 5 ms, a page on a thread would delay each API request by many times its duration.
SWITCH_INTERVAL = 0.0001
# Seconds between two checks of all connections.
CHECK_INTERVAL = 1.0


class EventLoopWorker(ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """A worker process that serves the application of petservice.server.asgi on one event loop."""

    # The master sets it before the worker starts, see gunicorn_conf.
    slot: WorkerSlot
    # Whether each response is the last one of its connection. gunicorn's `alive` must stay true during the stop.
    # Otherwise gunicorn would close connections after responses without `Connection: close`.
    is_stopping = False

    def init_process(self) -> None:
        self.connections: set[Connection] = set()
        certificate: Certificate | None = self.app.certificate
        self.tls = certificate.context if certificate else None
        # On gunicorn's own class, because it stores the result on the class that runs the check.
        ASGIProtocol._check_h1c_protocol_available()
        # Otherwise all workers would generate the same random numbers as the process that was forked.
        uuid_utils.reseed_rng()
        sys.setswitchinterval(SWITCH_INTERVAL)
        super().init_process()

    def init_signals(self) -> None:
        super().init_signals()
        # Ctrl-C in a terminal reaches the workers too, but only the master decides how they stop.
        self.loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def load_wsgi(self) -> None:
        super().load_wsgi()
        self.asgi.access_log = self._access_log()
        self.asgi.fast_path = _fast_path()

    def _access_log(self) -> AccessLog | None:
        """Return the access log, or None if neither request lines nor metrics are configured."""
        from django.conf import settings

        lines = metrics = None
        if settings.LOG_FORMAT == "json":
            lines = LineWriter(sys.stderr.fileno())
            for handler in (*logging.root.handlers, *self.log.error_log.handlers):
                # Only handlers that write to standard error.
                if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
                    handler.setStream(lines)
        if settings.METRICS_ADDRESS is not None:
            metrics = self._metrics()
        return AccessLog(lines, metrics) if lines or metrics else None

    def _metrics(self) -> "Metrics | None":
        try:
            reserve_space()
        except OSError as error:
            self.log.error("This worker counts nothing for the metrics, because its files have no space: %s", error)
            return None
        from petservice.monitoring.metrics import Metrics

        return Metrics()

    async def _serve(self) -> None:
        from django.conf import settings

        self._stopping = asyncio.Event()
        self.acceptor = Acceptor(self, settings.TRUSTED_PROXIES)
        while self.alive and not self.is_stopping and self.ppid == os.getppid():
            # A blocked request stops the heartbeat, so that gunicorn's `timeout` applies to it. The readiness check is
            # exempt: it blocks while the database does not respond, and replacing the worker would not help.
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
                is_ready=self.asgi.watch_readiness(),
                connections=len(self.connections),
                in_flight=access_log.in_flight,
                threads=self.asgi.threads,
            )

    async def _stop(self) -> None:
        """Let running requests finish, and respond to further ones with `Connection: close`."""
        self.is_stopping = True
        self.acceptor.stop()
        began = time.monotonic()
        while not self._quick_shutdown and (elapsed := time.monotonic() - began) < self.cfg.graceful_timeout:
            # Connections that were accepted most recently may not be in `connections` yet.
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
        """Return whether a request is running, including those whose clients have left."""
        return any(pool.is_busy for pool in self.asgi.threads.values())

    def handle_exit_signal(self) -> None:
        self.is_stopping = True
        self._stopping.set()

    def handle_quit_signal(self) -> None:
        super().handle_quit_signal()
        self._stopping.set()


def _fast_path() -> "FastPath | None":
    """Return the fast path, or None if it is turned off or removed. With DEBUG, the API has pages for browsers."""
    from django.conf import settings

    if not settings.FAST_PATH or settings.DEBUG or find_spec("petservice.fastpath") is None:
        return None
    from petservice.fastpath.application import FastPath

    return FastPath()
