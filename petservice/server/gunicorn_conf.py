"""The settings of gunicorn, and what it does at signals. GUNICORN_CMD_ARGS and gunicorn's variables override them."""

import faulthandler
import gc
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from django.conf import settings

from petservice.api.readiness import announce_stop, is_stopping
from petservice.db.backend import backend
from petservice.monitoring.exporter import Exporter
from petservice.server import limits

workers = settings.WORKERS
worker_class = "petservice.server.worker.EventLoopWorker"
# The master loads the application once, and workers share its memory. A new release needs a restart.
preload_app = True
worker_connections = limits.MAX_CONNECTIONS

keepalive = limits.KEEPALIVE
# In memory, so that a slow disk does not make a healthy worker look dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  # memory, not a shared file name
# Disables gunicorn's administration socket, which nothing here uses.
control_socket_disable = True

certfile = os.environ.get("TLS_CERTFILE") or None
keyfile = os.environ.get("TLS_KEYFILE") or None

# The lines of gunicorn have the format of all others. One can have a key that the client has sent.
logconfig_dict = settings.LOGGING | {"loggers": settings.LOGGING["loggers"] | {"gunicorn.error": {"propagate": True}}}
logging.captureWarnings(settings.LOG_FORMAT == "json")  # which Python would print

# The signals that stop a worker.
_STOPS = (signal.SIGTERM, signal.SIGQUIT)
# Seconds after SIGQUIT until the workers that still run are killed, as after a second SIGINT.
_QUICK_STOP_TIMEOUT = 2


def when_ready(server: Any) -> None:
    """Prepare the master process, before it forks the workers."""
    # At SIGINT (Ctrl-C), running requests finish as at SIGTERM, but without a drain; a second SIGINT cuts them off.
    server.handle_int = server.handle_term
    server.handle_quit = partial(_stop_quickly, server, server.handle_quit)
    if settings.DRAIN_SECONDS:
        server.handle_term = partial(_drain, server, settings.DRAIN_SECONDS)
    # A second master would migrate the database and need the address of the metrics while the first one runs.
    server.handle_usr2 = lambda: server.log.warning("SIGUSR2 is ignored: restart the service to run new code.")
    # The master's end of what pre_fork begins.
    os.register_at_fork(after_in_parent=partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, _STOPS))
    at_exit = ExitStack()
    at_exit.callback(backend().end_service)
    server.cfg.set("on_exit", lambda server: at_exit.close())  # when all workers have ended
    if settings.METRICS_ADDRESS is not None:
        exporter = Exporter(*settings.METRICS_ADDRESS, server.app.days_left if server.app.tls else None)
        server.cfg.set("child_exit", lambda server, worker: exporter.worker_ended(worker.pid))
        at_exit.callback(exporter.close)
        server.log.info("Metrics at: http://%s/metrics", os.environ["METRICS_BIND"])
    # With --reuse-port, each worker listens by itself.
    server.app.when_ready(server.LISTENERS[0].cfg_addr if server.LISTENERS else server.address[0])
    # Exclude all loaded objects from garbage collection. They stay anyway, and the collector would write to them, which
    # copies their shared memory.
    gc.collect()
    gc.freeze()


def _stop_quickly(server: Any, stop: Callable[[], None]) -> None:
    """Cut off running requests, at SIGQUIT. gunicorn's master would wait for them as it does at SIGTERM."""
    server.cfg.set("graceful_timeout", _QUICK_STOP_TIMEOUT)
    stop()


def _drain(server: Any, seconds: float) -> None:
    """Announce the stop to load balancers, at SIGTERM: `/ready` returns 503, and all other requests continue."""
    if is_stopping():  # the drain is over, or a second signal has ended it
        raise StopIteration  # this is how gunicorn's master stops
    announce_stop()
    server.log.info("Draining: /ready returns 503; stopping in %s seconds", seconds)
    signal.signal(signal.SIGALRM, lambda *_: server.signal(signal.SIGTERM, None))
    signal.setitimer(signal.ITIMER_REAL, seconds)


def pre_fork(server: Any, worker: Any) -> None:
    """Let signals to stop wait in the kernel during a fork, because Python drops those that reach a new process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)


def post_fork(server: Any, worker: Any) -> None:
    """Prepare a new worker, in its own process."""
    # The worker still has the master's handlers, which would only record a signal. A worker that is stopped now would
    # continue, and would be killed in the end with all its requests.
    for stop in _STOPS:
        signal.signal(stop, lambda *_: sys.exit(0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)


def worker_abort(worker: Any) -> None:
    """Log the stack traces of a blocked worker, before the master kills it."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        worker.log.error("Worker timed out; stack traces:\n%s", file.read().decode(errors="replace"))
