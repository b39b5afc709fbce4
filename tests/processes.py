"""Start programs of Python: in tests as forks of one process that has imported the libraries of the service.

The imports take two thirds of the time of a start. A fork imports the modules of the service itself, with environment
variables of its own.
"""

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from tests.documents import ROOT

# What the service imports of its libraries, as far as that needs no settings, and the client of the guide's program.
LIBRARIES = [
    *("django.contrib.admin.filters", "django.contrib.admin.options", "django.core.handlers.wsgi"),
    *("django.core.management", "django.db.backends.postgresql.base", "django.db.backends.sqlite3.base"),
    *("django.db.migrations.autodetector", "django.test.client", "drf_spectacular.utils", "environs", "httpx"),
    *("markdown_it", "openpyxl", "platformdirs", "psycopg", "rest_framework.fields", "segno", "sqlparse", "uvloop"),
    "whitenoise.base",
]


class ForkServer:
    """The process whose forks are the programs. It starts with the first of them."""

    def __init__(self) -> None:
        self._lock = Lock()

    @cached_property
    def _process(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", __name__]
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def request(self, *request: object) -> Any:
        """Send the arguments of `_run`, and return a process id; or send one, and return the exit status, if any."""
        with self._lock:
            assert self._process.stdin
            assert self._process.stdout
            print(json.dumps(request), file=self._process.stdin, flush=True)
            return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        """End the process, and wait for it, so that the processor time of the tests includes that of the forks."""
        if "_process" in vars(self):
            with self._process as process:
                process.kill()


class Fork:
    """A program in a fork, with the methods of `subprocess.Popen`."""

    def __init__(self, server: ForkServer, *arguments: object) -> None:
        self._server = server
        self._lock = Lock()
        self.pid: int = server.request(*arguments)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with self._lock:  # because an exit status can be asked for once
            if self.returncode is None:
                self.returncode = self._server.request(self.pid)
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        began = time.monotonic()
        while (code := self.poll()) is None:
            if timeout is not None and time.monotonic() > began + timeout:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.02)  # between two looks
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)  # without an error, because a process exists until a look at its exit status

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


# A program for `inside` that makes all but a folder, which is its argument, and file systems in memory read-only.
READ_ONLY = (
    "unshare",
    "--mount",
    "bash",
    "-euc",
    """
mount --bind "$1" "$1"
for folder in / /tmp /var/tmp; do
    if mountpoint -q $folder; then mount -o remount,bind,ro $folder; fi
done
shift
exec "$@"
""",
    "bash",
)


Process = Fork | subprocess.Popen[str]
# Tests set this. Without it, as in benchmarks, each program is a process of its own.
fork_server: ForkServer | None = None


def inside(*program: str, command: Sequence[str]) -> tuple[str, ...]:
    """Return a command for `start` that runs another one by a program such as `unshare`."""
    return ("-c", "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])", *program, sys.executable, *command)


def start(command: Sequence[str], environment: Mapping[str, str], output: Path, errors: Path) -> Process:
    """Start Python with these arguments, and append what it writes to files.

    A program after `-c` gets a process of its own, because most of them execute another program.
    """
    if fork_server and command[0] != "-c":
        for path in (output, errors):
            path.touch()  # because a fork opens its files later
        return Fork(fork_server, command, dict(environment), str(output), str(errors))
    with output.open("a") as file, errors.open("a") as other:
        return subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=environment, stdout=file, stderr=other, text=True
        )


def _run(command: list[str], environment: dict[str, str], output: str, errors: str) -> None:
    """Do in a fork what Python does with these arguments."""
    for number, path in enumerate((os.devnull, output, errors)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    os.environ.clear()
    os.environ.update(environment)
    is_module = command[0] == "-m"
    sys.argv = command[is_module:]
    (runpy.run_module if is_module else runpy.run_path)(sys.argv[0], run_name="__main__")


def main() -> None:
    for library in LIBRARIES:
        import_module(library)
    PBKDF2PasswordHasher.iterations = 1  # logins would take a third of the processor time of some tests
    gc.freeze()  # so that a fork copies none of their objects when it collects garbage
    for line in sys.stdin:
        request = json.loads(line)
        if len(request) == 1:
            pid, status = os.waitpid(request[0], os.WNOHANG)
            print(json.dumps(os.waitstatus_to_exitcode(status) if pid else None), flush=True)
        elif pid := os.fork():
            print(pid, flush=True)
        else:
            _run(*request)
            return


if __name__ == "__main__":
    main()
