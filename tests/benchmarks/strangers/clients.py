"""The clients of this benchmark: wrk, which repeats one request, and hostile clients of each kind."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.benchmarks.strangers.kinds import Kind
from tests.benchmarks.wrk import Wrk
from tests.service import ROOT, Service
from tests.waiting import wait_until

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
    port = str(urlsplit(service.url).port)
    command = [sys.executable, "-m", "tests.benchmarks.strangers.connections", kind.name, port, str(HOSTILE_CLIENTS)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: "asyncio" in Path(f"/proc/{process.pid}/maps").read_text())
    try:
        time.sleep(1.5)  # until the clients have connected
        yield rate
    finally:
        process.send_signal(signal.SIGINT)
        made = int(process.communicate()[0])
    rate.append(made / (time.monotonic() - began))
