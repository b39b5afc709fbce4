"""A thread that writes log lines.

Without this module, a reader of standard error that stops reading blocks all requests, including the health check.
"""

import atexit
import os
import select
import threading
from collections.abc import Iterator

from petservice.monitoring.logs import lost_lines

# Seconds between two writes. Waking the thread for each line would cost more than the line itself.
WRITE_INTERVAL = 0.05
# Maximum number of buffered bytes. Further lines are dropped and counted.
LIMIT = 4 * 1024 * 1024
# Seconds that the final write waits for the reader.
FLUSH_TIMEOUT = 2.0


class LineWriter:
    """A writer of whole lines to a file descriptor, whose `write` never waits.

    Output of other processes to the same pipe appears between lines, not within one. The exception is a line that is
    longer than the kernel writes atomically (select.PIPE_BUF).
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._lines: list[bytes] = []
        self._size = 0
        self._lost = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def write_line(self, line: bytes) -> None:
        """Buffer a line, which ends with a line feed, to be written soon; drop it if the buffer is full."""
        with self._lock:
            if self._size + len(line) > LIMIT:
                self._lost += 1
                return
            self._lines.append(line)
            self._size += len(line)
        if self._closing.is_set() and not self._thread.is_alive():  # otherwise a stopped reader would block this write
            self._write(self._taken())

    def write(self, text: str) -> None:
        """Buffer text, so that logging.StreamHandler can use this object as its stream."""
        self.write_line(text.encode())

    def close(self) -> None:
        """Write the buffer, if the reader takes it within FLUSH_TIMEOUT; write later lines directly."""
        self._closing.set()
        self._thread.join(FLUSH_TIMEOUT)

    def _run(self) -> None:
        while not self._closing.wait(WRITE_INTERVAL):
            self._write(self._taken())
        self._write(self._taken())

    def _taken(self) -> list[bytes]:
        with self._lock:
            lines, self._lines = self._lines, []
            self._size = 0
            if self._lost:
                lines.append(f"{lost_lines(self._lost)}\n".encode())
                self._lost = 0
        return lines

    def _write(self, lines: list[bytes]) -> None:
        for part in _parts(lines):
            rest = part
            while rest:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except BlockingIOError:  # another process that has the pipe open has set it non-blocking
                    select.select([], [self._descriptor], [])
                except OSError:  # the reader has closed the pipe
                    break


def _parts(lines: list[bytes]) -> Iterator[bytes]:
    """Yield the lines joined to parts that the kernel writes atomically, except for a line that is longer."""
    part = b""
    for line in lines:
        if part and len(part) + len(line) > select.PIPE_BUF:
            yield part
            part = b""
        part += line
    yield part
