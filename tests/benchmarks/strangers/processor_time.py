"""A counter of the processor time of another process, with a resolution of microseconds.

/proc and clock_gettime(2) report the time of another running process with a delay of up to a kernel tick, for example
4 ms. The counter of perf_event_open(2) has no such delay.
"""

import ctypes
import os
import platform
import struct
from contextlib import suppress
from pathlib import Path

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_SOFTWARE, _SIZE, _TASK_CLOCK = 1, 64, 1
# The flag that lets a thread's counter include the threads that it starts.
_INHERIT = 2
_libc = ctypes.CDLL(None, use_errno=True)


class ProcessorTime:
    """A counter of the processor time of all threads of a process, including those that it starts later."""

    def __init__(self, process: int) -> None:
        self._counters = []
        for folder in Path(f"/proc/{process}/task").iterdir():
            with suppress(ProcessLookupError):  # the thread has ended
                self._counters.append(_counter(int(folder.name)))

    def __enter__(self) -> "ProcessorTime":
        return self

    def __exit__(self, *exception: object) -> None:
        for counter in self._counters:
            os.close(counter)

    def milliseconds(self) -> float:
        """Return the processor time since the creation of this object."""
        return sum(struct.unpack("Q", os.read(counter, 8))[0] for counter in self._counters) / 1e6


def _counter(thread: int) -> int:
    attributes = struct.pack("IIQ24xQ", _SOFTWARE, _SIZE, _TASK_CLOCK, _INHERIT).ljust(_SIZE, b"\0")
    counter = int(_libc.syscall(_PERF_EVENT_OPEN[platform.machine()], attributes, thread, -1, -1, 0))
    if counter < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return counter
