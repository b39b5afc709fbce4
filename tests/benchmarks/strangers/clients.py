"""The clients of this benchmark: wrk, which repeats one request, and hostile clients of each kind."""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.benchmarks.strangers.connections import repeat
from tests.benchmarks.strangers.kinds import Kind
from tests.benchmarks.wrk import Wrk
from tests.service import Service

HOSTILE_CLIENTS = 200


@contextmanager
def hostile_clients(service: Service, kind: Kind, folder: Path) -> Iterator[list[float]]:
    """Run HOSTILE_CLIENTS clients of a kind without pauses, and append their throughput to the yielded list."""
    rate: list[float] = []
    began = time.monotonic()
    if kind.path:
        wrk = Wrk(
            *(service.url + kind.path, kind.headers, kind.script),
            **{"folder": folder, "connections": HOSTILE_CLIENTS, "seconds": 600},
        )
        try:
            time.sleep(1)  # until the clients are at full speed
            yield rate
        finally:
            responses = wrk.responses(now=True)
        rate.append(responses.rate)
        return
    made = multiprocessing.Value("q", lock=False)
    process = multiprocessing.Process(
        target=repeat, args=(kind.name, urlsplit(service.url).port, HOSTILE_CLIENTS, made)
    )
    process.start()
    try:
        time.sleep(1.5)  # until the clients have connected
        yield rate
    finally:
        process.terminate()
        process.join()
    rate.append(made.value / (time.monotonic() - began))
