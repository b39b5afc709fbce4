"""gunicorn's worker process with a connection limit, a heartbeat for blocked requests, and a graceful stop.

The stop at SIGTERM: The master first waits for the drain, if there is one (petservice.server.gunicorn_conf). Then it
closes its listeners and sends SIGTERM to the workers. A worker accepts no more connections, lets running requests
finish, and adds `Connection: close` to each response. It closes idle connections after LAST_REQUEST_TIMEOUT. It exits
when it has no connection and no running request, and has written the use of API keys. After gunicorn's
`graceful_timeout`, the master kills workers that still run.

At SIGINT (Ctrl-C) the master does the same without a drain. A second SIGINT, or SIGQUIT, cuts off running requests.
"""

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import uuid_utils
import uvloop
from django.conf import settings
from gunicorn.workers.base import Worker

from petservice.monitoring import telemetry
from petservice.monitoring.access_log import AccessLog
from petservice.monitoring.exporter import reserve_space
from petservice.server.acceptor import Acceptor
from petservice.server.application import Application
from petservice.server.connection import Connection
from petservice.server.limits import LAST_REQUEST_TIMEOUT

# Seconds after which Python switches between threads. The event loop waits for this several times during a request.
# With Python's default of 5 ms, a page on a thread would delay each API request by many times its duration.
SWITCH_INTERVAL = 0.0001
# Seconds between two checks of all connections.
CHECK_INTERVAL = 1.0


class EventLoopWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """A worker process that serves petservice.wsgi and the fast path on one event loop."""

    # Whether each response is the last one of its connection.
    is_stopping = False

    def run(self) -> None:
        """Serve requests until the worker is stopped."""
        # Terminals (at Ctrl-C and at their end) and `systemctl kill` send these to the workers too, but only the master
        # decides what follows.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
        # Otherwise all workers would generate the same random numbers as the process that was forked.
        uuid_utils.reseed_rng()
        sys.setswitchinterval(SWITCH_INTERVAL)
        self.connections: set[Connection] = set()
        telemetry.start()
        descriptor = sys.stderr.fileno() if settings.LOG_FORMAT == "json" else None
        self.metrics = self._metrics()
        self.access_log = AccessLog(descriptor, self.metrics and self.metrics.count)
        fast_path = None
        # With DEBUG, the API has pages for browsers. The folder may be removed.
        if settings.FAST_PATH and not settings.DEBUG and find_spec("petservice.fastpath"):
            from petservice.fastpath.answers import FastPath

            fast_path = FastPath()
        self.application = Application(self.wsgi, fast_path)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._run())

    def _metrics(self) -> Any:
        """Return the metrics of this worker, or None if none are configured or if there is no space for them."""
        if settings.METRICS_ADDRESS is None:
            return None
        try:
            reserve_space()
        except OSError as error:
            self.log.error("This worker counts nothing for the metrics, because its files have no space: %s", error)
            return None
        # prometheus_client needs the variable of the exporter.
        from petservice.monitoring.metrics import Metrics

        return Metrics()

    async def _run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self.loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        self.loop.add_signal_handler(signal.SIGQUIT, self._cut_off)
        self.acceptor = Acceptor(self, settings.TRUSTED_PROXIES)
        # The heartbeat is as old as the oldest request that runs, so that gunicorn's `timeout` applies to each. The
        # readiness check is exempt: it blocks while the database does not respond, and another worker would not help.
        pools = [pool for name, pool in self.application.pools.items() if name != "readiness"]
        while self.alive and not self._stopping.is_set() and self.nr < self.max_requests and self.ppid == os.getppid():
            heartbeat = time.monotonic() - max(pool.stalled_for() for pool in pools)
            os.utime(self.tmp.fileno(), (heartbeat, heartbeat))
            self._check_connections()
            self.acceptor.listen()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), CHECK_INTERVAL)
        await self._stop()

    def _cut_off(self) -> None:
        """Stop, and do not wait for running requests."""
        self.alive = False
        self._stopping.set()

    def _check_connections(self) -> None:
        now = time.monotonic()
        for connection in list(self.connections):
            connection.close_overdue(now)
        if self.metrics is not None and self.is_stopping:
            self.metrics.write_counts()  # without a check of the database, for which the stop would wait
        elif self.metrics is not None:
            self.metrics.sample(self.application, self.connections)

    async def _stop(self) -> None:
        """Let running requests finish, and respond to further ones with `Connection: close`."""
        self.is_stopping = True
        self.acceptor.close()
        began = time.monotonic()
        while self.alive and (elapsed := time.monotonic() - began) < self.cfg.graceful_timeout:
            # Connections that were accepted most recently may not be in `connections` yet.
            has_clients = self.connections or (self.acceptor.open and elapsed < LAST_REQUEST_TIMEOUT)
            # Requests whose clients have left may still run.
            if not has_clients and not any(pool.in_use for pool in self.application.pools.values()):
                break
            self.notify()
            if elapsed > LAST_REQUEST_TIMEOUT:
                for connection in list(self.connections):
                    connection.close_idle()
            self._check_connections()
            await asyncio.sleep(0.05)
        if self.metrics is not None:
            self.metrics.write_counts()
