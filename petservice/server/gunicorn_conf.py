"""The settings of gunicorn. GUNICORN_CMD_ARGS and gunicorn's environment variables override them."""

import faulthandler
import gc
import os
import signal
import sys
import tempfile
from typing import Any

from petservice.monitoring.exporter import Exporter
from petservice.server import limits
from petservice.server.drain import drain_first, stop_quickly_on_quit

# At least two workers, also on one core, so that one responds while the other starts or is replaced.
workers = int(os.environ.get("WEB_CONCURRENCY", 0)) or max(2, min(os.cpu_count() or 1, 8))
worker_class = "petservice.server.worker.EventLoopWorker"
# The master loads the application once, and workers share its memory. A new release needs a restart.
preload_app = True
worker_connections = limits.MAX_CONNECTIONS

keepalive = limits.KEEPALIVE
# Seconds without progress of the event loop or of a request, after which the worker is replaced.
timeout = 30
graceful_timeout = 30
# In memory, so that a slow disk does not make a healthy worker look dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # memory, not a shared file name
# Disables gunicorn's administration socket, which nothing here uses.
control_socket_disable = True

certfile = os.environ.get("TLS_CERTFILE") or None
keyfile = os.environ.get("TLS_KEYFILE") or None

limit_request_line = limits.MAX_REQUEST_LINE
limit_request_fields = limits.MAX_HEADERS

errorlog = "-"
logger_class = "petservice.server.logger.ServiceLogger"

_exporter: Exporter | None = None


def when_ready(server: Any) -> None:
    """Prepare the master process, before it forks the workers."""
    from django.conf import settings  # set up by the application, which is loaded by now

    # At SIGINT (Ctrl-C), running requests finish as at SIGTERM, but without a drain; a second SIGINT cuts them off.
    server.handle_int = server.handle_term
    stop_quickly_on_quit(server)
    if settings.DRAIN_SECONDS:
        drain_first(server, settings.DRAIN_SECONDS)
    # A second master would migrate the database and need the address of the metrics while the first one runs.
    server.handle_usr2 = lambda: server.log.warning("SIGUSR2 is ignored: restart the service to run new code.")
    if settings.METRICS_ADDRESS is not None:
        _serve_metrics(server, *settings.METRICS_ADDRESS)
    server.app.when_ready()
    # Exclude all loaded objects from garbage collection. They stay anyway, and the collector would write to them, which
    # copies their shared memory.
    gc.collect()
    gc.freeze()


def _serve_metrics(server: Any, host: str, port: int) -> None:
    from django.conf import settings

    global _exporter
    certificate = server.app.certificate
    try:
        days = certificate.days_left if certificate else None
        _exporter = Exporter(host, port, certificate_days=days, last_backup=settings.LAST_BACKUP)
    except OSError as error:
        server.log.error(
            "Metrics cannot be served at METRICS_BIND=%s:%s (%s): name an address of this machine with a port that is "
            "free, for example METRICS_BIND=127.0.0.1:9100",
            *(f"[{host}]" if ":" in host else host, port, error.strerror),
        )
        sys.exit(1)
    server.log.info("Metrics at: http://%s:%s/metrics", f"[{host}]" if ":" in host else host, port)


def pre_fork(server: Any, worker: Any) -> None:
    """Prepare a new worker, in the master process."""
    worker.signals_before = server.SIG_QUEUE.qsize()


def post_fork(server: Any, worker: Any) -> None:
    """Prepare a new worker, in its own process."""
    # The worker still has the master's signal handlers, which would only record a signal. Without these handlers, a
    # worker that is stopped now would continue, and would be killed in the end with all its requests.
    for stop in (signal.SIGTERM, signal.SIGQUIT):
        signal.signal(stop, lambda *_: sys.exit(0))
    if server.SIG_QUEUE.qsize() > worker.signals_before:
        sys.exit(0)  # a signal came before these handlers; if it was for the master, that starts another worker
    if _exporter is not None:
        _exporter.close_in_worker()


def worker_abort(worker: Any) -> None:
    """Log the stack traces of a blocked worker, before the master kills it."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        worker.log.error("Worker timed out; stack traces:\n%s", file.read().decode(errors="replace"))


def child_exit(server: Any, worker: Any) -> None:
    """Clear the data of an ended worker, in the master process."""
    if _exporter is not None:
        _exporter.worker_ended(worker.pid)


def on_exit(server: Any) -> None:
    """Close the metrics server when the master process ends."""
    if _exporter is not None:
        _exporter.close()
