"""/metrics for Prometheus, on a listener of its own: a thread in gunicorn's master adds up what the workers count."""

import fcntl
import logging
import os
import platform
import shutil
import socket
import socketserver
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import django
import gunicorn

logger = logging.getLogger(__name__)

PATH = "/metrics"
# Seconds for a scraper to say what it wants.
PATIENCE = 10

_PREFIX = "petservice-metrics-"


class MetricsServer(socketserver.ThreadingMixIn, WSGIServer):
    """Answers GET /metrics until it is closed; raises OSError if the address cannot be had."""

    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)
        self._folder, self._lock = _new_folder()
        # Before the library is imported, which happens nowhere else before this.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(self._folder)
        self.set_app(_application())
        threading.Thread(target=self.serve_forever, name="metrics", daemon=True).start()

    def server_bind(self) -> None:
        """Without looking this machine's name up, for which there may be nobody to ask."""
        socketserver.TCPServer.server_bind(self)
        host, self.server_port = self.socket.getsockname()[:2]
        self.server_name = host
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log it; a scraper that went away is nothing to be told."""
        logger.debug("A scrape failed.", exc_info=True)

    def forget(self) -> None:
        """In a worker, the copy of the listener is nothing but in the way of whoever wants the port next."""
        self.socket.close()

    def worker_ended(self, pid: int) -> None:
        """Keep what the worker process counted, and forget what was going on in it."""
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid)  # type: ignore[no-untyped-call]

    def end(self) -> None:
        """Stop answering, and leave nothing behind."""
        self.shutdown()
        self.server_close()
        shutil.rmtree(self._folder, ignore_errors=True)


class _Handler(WSGIRequestHandler):
    timeout = PATIENCE

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: scrapes are no requests of the service."""


def _application() -> Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]:
    from prometheus_client import CollectorRegistry, make_wsgi_app
    from prometheus_client.core import InfoMetricFamily, Metric
    from prometheus_client.multiprocess import MultiProcessCollector

    # Workers are copies of this process, with whatever a scrape's thread holds in that moment; so this may take no lock
    # that a worker takes. A registry and a collector of its own, which reads files, take none.
    class Collector:
        def __init__(self) -> None:
            self._counted = MultiProcessCollector(None)  # type: ignore[no-untyped-call]

        def collect(self) -> Iterable[Metric]:
            yield from self._counted.collect()  # type: ignore[no-untyped-call]
            yield InfoMetricFamily("petservice_build", "What runs.", _build())

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector())
    metrics = make_wsgi_app(registry)

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != PATH:
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [f"Metrics are at {PATH}.\n".encode()]
        answer: Iterable[bytes] = metrics(environ, start_response)
        return answer

    return application


def _build() -> dict[str, str]:
    return {
        "version": version("petservice"),
        "python": platform.python_version(),
        "django": django.get_version(),
        "gunicorn": gunicorn.__version__,
    }


def _new_folder() -> tuple[Path, IO[str]]:
    """An empty folder for what workers count, and a lock that says that it is in use. It is in memory, where there is
    such a place: a slow disk must not hold up requests."""
    parent = Path("/dev/shm")  # noqa: S108  # for names that nobody can foresee
    if not os.access(parent, os.W_OK):
        parent = Path(tempfile.gettempdir())
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # in use, or somebody else's
            _remove_if_left_over(folder)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    lock = (folder / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def _remove_if_left_over(folder: Path) -> None:
    """A service that was killed leaves its folder, and no lock on it."""
    if folder.stat().st_uid == os.getuid():
        with (folder / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
