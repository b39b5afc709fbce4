"""The endpoint /metrics for Prometheus: a thread of the master process serves the sums over all workers."""

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from petservice import __version__

# The files of a worker by prometheus_client's names, and their sizes in bytes. They have room for every route and key.
_FILES = {
    "counter": 1 << 18,
    "histogram": 1 << 19,
    "gauge_livesum": 1 << 16,
    "gauge_livemin": 1 << 16,
    "gauge_livemax": 1 << 16,
}


def reserve_space() -> None:
    """Create the files of this worker process with all their space. Raises OSError if there is too little.

    prometheus_client reserves none, and a process that writes to a file without space is killed (SIGBUS).
    """
    folder, pid = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]), os.getpid()
    with tempfile.TemporaryDirectory(dir=folder) as parts:
        for name, size in _FILES.items():
            with Path(parts, f"{name}_{pid}.db").open("xb") as created:
                os.posix_fallocate(created.fileno(), 0, size)
        for part in Path(parts).iterdir():  # the collector finds them only now, when they are complete
            part.rename(folder / part.name)


class Exporter:
    """A server of the metrics on its own address, with prometheus_client's HTTP server and collector."""

    def __init__(self, host: str, port: int, certificate_days: Callable[[], float] | None) -> None:
        """Start to serve. Raises CommandError if the address cannot be bound.

        `certificate_days` returns for how many more days the TLS certificate is valid, if the service has one.
        """
        self._certificate_days = certificate_days
        # In memory if possible, so that no request waits for a disk.
        memory = Path("/dev/shm")  # noqa: S108  # the name of the folder in it cannot be guessed
        parent = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
        prefix = f"petservice-metrics-{host}-{port}-"
        # A new name, because others on the machine may create folders there, and could take a known name.
        self._folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        # prometheus_client reads this variable when it is imported, so nothing may import it earlier.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(self._folder)
        from prometheus_client import CollectorRegistry, start_http_server
        from prometheus_client.multiprocess import MultiProcessCollector

        # Workers are forks of this process and inherit any lock that a scrape's thread holds at that moment. So this
        # thread must not take a lock that workers use. A separate registry with a collector of files takes none.
        registry = CollectorRegistry(auto_describe=False)
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        registry.register(self)  # for the metrics of the master
        try:
            self._server, _ = start_http_server(port, host, registry)
        except OSError as error:
            self._folder.rmdir()
            raise CommandError(
                f"Metrics cannot be served at METRICS_BIND={os.environ['METRICS_BIND']} ({error.strerror}): name an "
                "address of this machine with a port that is free, for example METRICS_BIND=127.0.0.1:9100"
            ) from error
        # A worker that outlives the master must not keep the address.
        os.register_at_fork(after_in_child=self._server.socket.close)
        for folder in parent.glob(f"{prefix}*"):  # of services that were killed: the address is this one's now
            if folder != self._folder and folder.lstat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)

    def worker_ended(self, pid: int) -> None:
        """Keep the counters of an ended worker, but not the space that they did not need, and drop its gauges."""
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid)  # type: ignore[no-untyped-call]
        for file in self._folder.glob(f"*_{pid}.db"):
            # The last value and its time, of eight bytes each, may be zero.
            os.truncate(file, len(file.read_bytes().rstrip(b"\0")) + 16)

    def close(self) -> None:
        """Delete the files. The server ends with the process."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def collect(self) -> Iterator[Any]:
        """Yield the metrics of the master, as a collector of prometheus_client."""
        from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily

        versions = {name: version(name) for name in ("django", "gunicorn")}
        build = {"version": __version__, "python": platform.python_version(), **versions}
        yield InfoMetricFamily("petservice_build", "What runs.", build)
        if self._certificate_days is not None:
            help_text = "Days until the TLS certificate expires."
            yield GaugeMetricFamily("petservice_certificate_days_left", help_text, self._certificate_days())
        if connection.vendor == "sqlite" and settings.LAST_BACKUP.exists():  # not one from before a move to PostgreSQL
            age = time.time() - settings.LAST_BACKUP.stat().st_mtime
            yield GaugeMetricFamily("petservice_backup_age_seconds", "Age of the last backup_database.", age)
