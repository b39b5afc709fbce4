"""gunicorn's settings. GUNICORN_CMD_ARGS, WEB_CONCURRENCY, PORT and FORWARDED_ALLOW_IPS go before these, as usual."""

import faulthandler
import gc
import os
import signal
import ssl
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from petservice.monitoring.exporter import Exporter
from petservice.server import limits
from petservice.server.balancing import Balancer
from petservice.server.drain import drain_first, stop_gracefully_on_interrupt

# Two workers even on one core: while one starts or is replaced the other answers.
workers = int(os.environ.get("WEB_CONCURRENCY", 0)) or max(2, min(os.cpu_count() or 1, 8))
worker_class = "petservice.server.worker.EventLoopWorker"
# Loaded once, and the memory shared by the workers. What a new release brings, a restart loads.
preload_app = True
worker_connections = limits.MAX_CONNECTIONS
# gunicorn_h1c or nothing: the Python parser would cost more than everything else of gunicorn.
http_parser = "fast"
# Not uvloop where it happens to be installed: it saves nothing here that can be measured.
asgi_loop = "asyncio"
# Django knows no start-up and shutdown messages.
asgi_lifespan = "off"

keepalive = limits.KEEPALIVE
# A worker whose loop, or one of whose calls of Django, stands still for this long is replaced.
timeout = 30
graceful_timeout = 30
# A disk that hangs must not make a healthy worker look dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # memory, not a shared file name
# An administration socket that nothing here uses.
control_socket_disable = True

certfile = os.environ.get("TLS_CERTFILE") or None
keyfile = os.environ.get("TLS_KEYFILE") or None

limit_request_line = limits.MAX_REQUEST_LINE
limit_request_fields = limits.MAX_HEADERS
# Seconds in which a request may still run whose client has left: none. What has not begun is dropped.
asgi_disconnect_grace_period = 0

errorlog = "-"
logger_class = "petservice.server.logger.ServiceLogger"

_balancer = Balancer()
_exporter: Exporter | None = None


def ssl_context(config: Any, default: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """TLS 1.2 and later, also where Python has been built to leave that to the machine's settings."""
    context = default()
    context.minimum_version = max(context.minimum_version, ssl.TLSVersion.TLSv1_2)
    return context


def when_ready(server: Any) -> None:
    """Before the workers begin as copies of this process."""
    from django.conf import settings  # which the application, loaded by now, has set up

    stop_gracefully_on_interrupt(server)
    if settings.DRAIN_SECONDS:
        drain_first(server, settings.DRAIN_SECONDS)
    if settings.METRICS_ADDRESS is not None:
        _serve_metrics(server, *settings.METRICS_ADDRESS)
    # What has been loaded stays, so no collector need look at it again and again, and writing to it would end that the
    # memory is shared.
    gc.collect()
    gc.freeze()


def _serve_metrics(server: Any, host: str, port: int) -> None:
    global _exporter
    try:
        _exporter = Exporter(host, port)
    except OSError as error:
        server.log.error(
            "Metrics cannot be served at METRICS_BIND=%s:%s (%s): name an address of this machine with a port that is "
            "free, for example METRICS_BIND=127.0.0.1:9100",
            *(f"[{host}]" if ":" in host else host, port, error.strerror),
        )
        sys.exit(1)
    server.log.info("Metrics at: http://%s:%s/metrics", f"[{host}]" if ":" in host else host, port)


def pre_fork(server: Any, worker: Any) -> None:
    """In the master, before a worker begins."""
    worker.slot = _balancer.slot(worker.age)
    worker.signals_before = server.SIG_QUEUE.qsize()


def post_fork(server: Any, worker: Any) -> None:
    """In each worker, as it begins."""
    # Until it has handlers of its own it has copies of the master's, which only note a signal: told to stop, it would
    # serve on and be killed in the end, with whatever it serves by then. Nothing can be lost yet.
    for stop in (signal.SIGTERM, signal.SIGQUIT):
        signal.signal(stop, lambda *_: sys.exit(0))
    if server.SIG_QUEUE.qsize() > worker.signals_before:
        sys.exit(0)  # it came even before this; if it was meant for the master, another worker begins
    if _exporter is not None:
        _exporter.close_in_worker()


def worker_abort(worker: Any) -> None:
    """In a worker that hangs, before the master kills it: log where."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        worker.log.error("The worker hangs:\n%s", file.read().decode(errors="replace"))


def child_exit(server: Any, worker: Any) -> None:
    """In the master, when a worker has ended, in whatever way."""
    worker.slot.note(None)
    if _exporter is not None:
        _exporter.worker_ended(worker.pid)


def on_exit(server: Any) -> None:
    """In the master, at its end."""
    if _exporter is not None:
        _exporter.close()
