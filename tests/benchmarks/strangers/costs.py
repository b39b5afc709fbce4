"""The cost of one request or connection of each kind for the service."""

import asyncio
import socket
import ssl
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tests.benchmarks.processes import cpu_seconds, memory, processes
from tests.benchmarks.strangers.kinds import Kind
from tests.benchmarks.tables import print_header, print_row
from tests.benchmarks.wrk import Wrk
from tests.service import Service

SECONDS = 2
# Number of silent connections, which the service closes much later.
HELD = 100
# Closes a connection by a reset, so that no port stays reserved for it (struct linger).
RESET = b"\1\0\0\0\0\0\0\0"


async def _connect(kind: str, port: int) -> int:
    """Open connections of a kind in sequence, and return their number."""
    if kind == "silent connection":
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(HELD)]
        await asyncio.sleep(SECONDS)
        for _, writer in held:
            writer.transport.abort()
        return HELD
    context = ssl._create_unverified_context() if kind == "TLS handshake" else None
    end, number = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()
        number += 1
    return number


def thread_seconds(service: Service) -> float:
    """Return the CPU time in seconds of all threads except the first of each process, including ended threads."""
    found = processes(service.process.pid)
    first = [thread for process in found for thread in process.threads() if thread.id == process.pid]
    return cpu_seconds(service.process.pid) - sum(thread.user_time + thread.system_time for thread in first)


def cost(service: Service, kind: Kind, folder: Path) -> tuple[float, float, float, float]:
    """Return the CPU time in ms, KiB that stay allocated, threads in use, and the time in ms."""
    pid = service.process.pid
    size = memory(pid)
    began, threads, before = cpu_seconds(pid), thread_seconds(service), time.monotonic()
    if kind.path:
        options = {"folder": folder, "connections": 1, "seconds": SECONDS}
        responses = Wrk(service.url + kind.path, kind.headers, kind.script, **options).responses()
        number, milliseconds = responses.number, responses.median
    else:
        number = asyncio.run(_connect(kind.name, urlsplit(service.url).port or 0))
        milliseconds = (time.monotonic() - before) * 1000 / number
    spent = cpu_seconds(pid) - began
    on_threads = (thread_seconds(service) - threads) / spent if spent else 0
    grown = (memory(pid) - size) * 1024 / number
    return spent / number * 1000, grown, float(on_threads > 0.2), milliseconds


def costs(service: Service, kinds: Sequence[Kind], folder: Path, rounds: int) -> None:
    """Print a row for each kind with the medians of its costs."""
    print_header("one of this kind", "CPU, ms", "memory that stays, KiB", "threads in use", "time, ms")
    for kind in kinds:
        cost(service, kind, folder)  # the first measurement fills caches
        rows = [cost(service, kind, folder) for _ in range(rounds)]
        milliseconds, grown, threads, time_ms = (statistics.median(column) for column in zip(*rows, strict=True))
        print_row(kind.name, f"{milliseconds:.2f}", f"{grown:.2f}", f"{threads:.0f}", f"{time_ms:.2f}")
