"""Start programs of Python: in tests as forks of one process that has imported the libraries of the service.

The imports take two thirds of the time of a start. A fork imports the modules of the service itself, with environment
variables of its own.
"""

import atexit
import gc
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from threading import Lock

from tests.documents import ROOT

# What the service imports of its libraries, as far as that needs no settings.
LIBRARIES = [
    *("django.contrib.admin.filters", "django.contrib.admin.options", "django.core.handlers.wsgi"),
    *("django.core.management", "django.db.backends.postgresql.base", "django.db.backends.sqlite3.base"),
    *("drf_spectacular.utils", "environs", "markdown_it", "openpyxl", "psycopg", "rest_framework.fields"),
    *("segno", "sqlparse", "whitenoise.base"),
]


# Tests set this. Without it, as in benchmarks, each program is a process of its own.
forks = False
# Its server process starts with the first program, and imports these modules once.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__, *LIBRARIES])


class Fork:
    """A program in a fork, with the methods of `subprocess.Popen`."""

    def __init__(self, *arguments: object) -> None:
        self._process = _CONTEXT.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        self.pid: int = self._process.pid  # type: ignore[assignment]
        self._lock = Lock()

    def poll(self) -> int | None:
        with self._lock:  # because an exit status can be read once
            return self._process.exitcode

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def wait(self, timeout: float | None = None) -> int:
        wait([self._process.sentinel], timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


# A program for `inside` that makes everything read-only but a folder. Its arguments are the folder, and a further file
# system that becomes read-only, or nothing.
READ_ONLY = (
    "unshare",
    "--mount",
    "bash",
    "-euc",
    """
mount --bind "$1" "$1"
for folder in / /tmp /var/tmp $2; do
    if mountpoint -q $folder; then mount -o remount,bind,ro $folder; fi
done
shift 2
exec "$@"
""",
    "bash",
)


Process = Fork | subprocess.Popen[str]


def inside(*program: str, command: Sequence[str]) -> tuple[str, ...]:
    """Return a command for `start` that runs another one by a program such as `unshare`."""
    return ("-c", "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])", *program, sys.executable, *command)


def start(command: Sequence[str], environment: Mapping[str, str], output: Path, errors: Path) -> Process:
    """Start Python with these arguments, and append what it writes to files.

    A program after `-c` gets a process of its own, because most of them execute another program.
    """
    if forks and command[0] != "-c":
        for path in (output, errors):
            path.touch()  # because a fork opens its files later
        return Fork(command, environment, output, errors)
    with output.open("a") as file, errors.open("a") as other:
        return subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=environment, stdout=file, stderr=other, text=True
        )


def _run(command: Sequence[str], environment: Mapping[str, str], output: Path, errors: Path) -> None:
    """Do in a fork what Python does with these arguments."""
    gc.freeze()  # so that it copies none of the objects of the libraries when it collects garbage
    for number, path in enumerate((os.devnull, output, errors)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    is_module = command[0] == "-m"
    sys.argv = [*command[is_module:]]
    try:
        (runpy.run_module if is_module else runpy.run_path)(sys.argv[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()  # which multiprocessing leaves out
