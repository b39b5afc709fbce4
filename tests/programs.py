"""Run programs that are not the service, such as proxies and other servers."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import wait_until


@contextmanager
def running_program(
    command: Sequence[str | Path], log: Path, is_ready: Callable[[], object], **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start a program that writes to a file, wait until it is ready, and stop it at the end."""
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, text=True, **options)
    try:
        wait_until(lambda: process.poll() is not None or is_ready())
        assert process.poll() is None, log.read_text()
        yield process
    finally:
        process.terminate()
        process.wait(timeout=40)
