"""Throughput while PostgreSQL is some milliseconds away."""

import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.benchmarks.databases import databases
from tests.benchmarks.load import load
from tests.benchmarks.served.sizes import FEW, WORKERS
from tests.benchmarks.service import free_port, running_service, wait_until

DISTANCES = (0, 0.3, 1, 3)


def distance(name: str, folder: Path, rounds: int) -> None:
    if name == "SQLite":
        return  # which is a file
    operations = ("get one", "list 100", "inventory", "post")
    with databases(name, folder, FEW) as (seeded,), ExitStack() as stack:
        target = next(Path(parse_qs(urlsplit(seeded.url).query)["host"][0]).glob(".s.PGSQL.*[0-9]"))
        services = {}
        for milliseconds in DISTANCES:
            url = seeded.url
            if milliseconds:
                url = f"postgresql://postgres@127.0.0.1:{stack.enter_context(far_away(target, milliseconds))}/postgres"
            its_folder = Path(tempfile.mkdtemp(dir=folder))
            services[milliseconds] = stack.enter_context(
                running_service(its_folder, DATABASE_URL=url, WEB_CONCURRENCY=str(WORKERS))
            )
        rates: dict[tuple[float, str], list[float]] = {}
        for _ in range(rounds):
            for milliseconds, service in services.items():
                for operation in operations:
                    load(service, seeded, operation, 1, folder / "post.lua")
                    rate = load(service, seeded, operation, 3, folder / "post.lua").rate
                    rates.setdefault((milliseconds, operation), []).append(rate)
        heads = "".join(f"{operation:>12}" for operation in operations)
        print(f"\n{name}, a second, ms away{heads}")
        for milliseconds in DISTANCES:
            medians = (statistics.median(rates[milliseconds, operation]) for operation in operations)
            print(f"{milliseconds:{len(name) + 19}}{''.join(f'{rate:12,.0f}' for rate in medians)}", flush=True)


@contextmanager
def far_away(target: Path, milliseconds: float) -> Iterator[int]:
    """The port of a way to the socket `target`, there and back in so much time."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.far", str(port), target, str(milliseconds / 2)])
    try:
        wait_until(lambda: _listens(port))
        yield port
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
