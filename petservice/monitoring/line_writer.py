"""Log lines on their way out, written by a thread.

Without it, a reader of standard error that stops for a while stops all requests, and the health check with them.
"""

import atexit
import os
import select
import threading
from collections.abc import Callable, Iterator

# Seconds for which lines gather. Waking the thread for each would cost more than all the rest of a line.
WRITE_INTERVAL = 0.05
# Bytes that wait for the reader. What comes beyond them is lost, and counted.
LIMIT = 4 * 1024 * 1024
# Seconds that the reader has for the rest at the end.
FLUSH_TIMEOUT = 2.0


class LineWriter:
    """Writes whole lines to a file descriptor; `write` never waits. Other writers of the same pipe get in between
    lines, not into one, unless it is longer than the kernel writes at once (select.PIPE_BUF)."""

    def __init__(self, descriptor: int, lost_lines: Callable[[int], str]) -> None:
        self._descriptor = descriptor
        self._lost_lines = lost_lines
        self._lock = threading.Lock()
        self._lines: list[bytes] = []
        self._size = 0
        self._lost = 0
        self._wanted = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def write_line(self, line: bytes) -> None:
        """Have `line`, which ends with a line feed, written soon; or never, if too much waits already."""
        with self._lock:
            if self._size + len(line) > LIMIT:
                self._lost += 1
                return
            self._lines.append(line)
            self._size += len(line)
        if self._closing.is_set():
            self._flush_late()
        elif not self._wanted.is_set():
            self._wanted.set()

    def write(self, text: str) -> None:
        """The same for logging.StreamHandler, which takes this for a file."""
        self.write_line(text.encode())

    def flush(self) -> None:
        """Nothing: the thread writes when it is time."""

    def close(self) -> None:
        """Write what waits, if the reader takes it in time; what comes later is written at once."""
        self._closing.set()
        self._wanted.set()
        self._thread.join(FLUSH_TIMEOUT)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wanted.wait()
            self._closing.wait(WRITE_INTERVAL)
            self._wanted.clear()
            self._write(self._taken())
        self._write(self._taken())

    def _flush_late(self) -> None:
        if not self._thread.is_alive():  # or else the reader has stopped for good
            self._write(self._taken())

    def _taken(self) -> list[bytes]:
        with self._lock:
            lines, self._lines = self._lines, []
            self._size = 0
            if self._lost:
                lines.append(f"{self._lost_lines(self._lost)}\n".encode())
                self._lost = 0
        return lines

    def _write(self, lines: list[bytes]) -> None:
        for part in _parts(lines):
            rest = part
            while rest:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except BlockingIOError:  # somebody else who has it open has made it so
                    select.select([], [self._descriptor], [])
                except OSError:  # nobody reads any more
                    break


def _parts(lines: list[bytes]) -> Iterator[bytes]:
    """`lines` in parts that the kernel writes to a pipe at once, as far as a line is not longer itself."""
    part = b""
    for line in lines:
        if part and len(part) + len(line) > select.PIPE_BUF:
            yield part
            part = b""
        part += line
    yield part
