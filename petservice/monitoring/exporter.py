"""/metrics for Prometheus, on an address of its own: a thread of the master process adds up what the workers count."""

import errno
import os
import platform
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class Exporter:
    """Serves the metrics until it is closed, with the library's own server."""

    def __init__(self, host: str, port: int) -> None:
        """Begin to serve; raises OSError if the address cannot be had."""
        self._folder = _folder(host, port)
        # The library decides at its import, which happens nowhere else before this, where workers count.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(self._folder)
        from prometheus_client import CollectorRegistry, start_http_server

        # Workers are copies of this process, with whatever a scrape's thread holds in that moment; so this may take no
        # lock that a worker takes. A registry and a collector of its own, which reads files, take none.
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self._folder))
        self._server, _ = start_http_server(port, host, registry)
        _make(self._folder)  # now: the owner of the address owns the folder; a killed service has left its files
        for file in self._folder.glob("*.db"):
            file.unlink()

    def close_in_worker(self) -> None:
        """Close a worker's copy of the listener, which would keep the address from the next service."""
        self._server.socket.close()

    def worker_ended(self, pid: int) -> None:
        """Keep what a worker process counted, and forget what was going on in it."""
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Stop serving, and leave no file behind."""
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self._folder, ignore_errors=True)


class _Collector:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> "Iterable[Metric]":
        from prometheus_client.core import InfoMetricFamily
        from prometheus_client.multiprocess import MultiProcessCollector

        yield from MultiProcessCollector.merge(self._files())  # type: ignore[no-untyped-call]
        versions = {name: version(name) for name in ("django", "gunicorn")}
        build = {"version": version("petservice"), "python": platform.python_version(), **versions}
        yield InfoMetricFamily("petservice_build", "What runs.", build)

    def _files(self) -> list[str]:
        """The files that have content. One that a worker makes is empty at first, and stays so if it is killed then."""
        files = []
        for file in self._folder.glob("*.db"):
            with suppress(FileNotFoundError):  # that of a worker that has just ended
                if file.stat().st_size:
                    files.append(str(file))
        return files


def _folder(host: str, port: int) -> Path:
    """Return the folder for what workers count, in memory where possible: a slow disk must not hold up requests."""
    memory = Path("/dev/shm")  # noqa: S108  # the owner of the folder is checked
    parent = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    return parent / f"petservice-metrics-{host}-{port}"


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise PermissionError(errno.EACCES, f"{folder} belongs to another user")
