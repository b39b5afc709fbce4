"""The CPU time of a request with few and with many pets."""

import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.databases import Seeded, databases
from tests.benchmarks.load import load
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.served.sizes import FEW, MANY
from tests.service import Service, running_service

OPERATIONS = ("fetch one pet", "list 100 pets", "list 100 pets, deep", "inventory", "post")


def flat(name: str, folder: Path, rounds: int) -> None:
    with databases(name, FEW, MANY) as both, ExitStack() as stack:
        # Each service has a folder of its own, because two services in one folder would share the log.
        services = [
            stack.enter_context(running_service(Path(tempfile.mkdtemp(dir=folder)), DATABASE_URL=seeded.url))
            for seeded in both
        ]
        taken: dict[str, list[list[float]]] = {operation: [] for operation in OPERATIONS}
        for number in range(rounds):
            for operation in OPERATIONS:
                # Alternate the two, because the speed of the machine changes over time.
                pair = [0.0, 0.0]
                for which in (0, 1) if number % 2 else (1, 0):
                    pair[which] = microseconds(services[which], both[which], operation)
                taken[operation].append(pair)
        print(f"\n{name}, CPU microseconds per request{'10,000':>12}{'1,000,000':>12}{'ratio':>8}")
        for operation, pairs in taken.items():
            few, many = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(many / few for few, many in pairs)
            print(f"{operation:{len(name) + 30}}{few:12.0f}{many:12.0f}{ratio:8.2f}", flush=True)


def microseconds(service: Service, seeded: Seeded, operation: str) -> float:
    """Return the CPU time of the service and its database for one request."""
    load(service, seeded, operation, 1)  # warms up
    processes = service.process.pid, seeded.server
    began = cpu_seconds(*processes)
    requests = load(service, seeded, operation, 3).number
    return (cpu_seconds(*processes) - began) / requests * 1e6
