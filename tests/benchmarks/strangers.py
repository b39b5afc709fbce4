"""`python -m tests.benchmarks.strangers` measures how clients without a key affect others. It needs `wrk` and root.

For each kind of request it prints the p99 latency of a client of the API, without and with 200 hostile clients, which
send such requests without pause. One process serves both, or the pages have a process and a processor of their own,
which the hostile clients use, too. The row of the valid key shows what as many ordinary clients do.

The service has one worker, so that no other worker serves requests in its place. Its processes are bound to one
processor, and all clients to another one. The measured client pauses between requests, and runs as soon as it has
something to do (SCHED_FIFO, which needs root).
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from petservice.apikeys import keys
from tests.benchmarks.databases import DATABASES
from tests.benchmarks.filled_databases import seeded_database
from tests.benchmarks.processes import conditions, cpu_seconds
from tests.benchmarks.tables import print_header, print_row
from tests.benchmarks.wrk import Wrk
from tests.server.connections import Client, get
from tests.service import Service, running_service
from tests.waiting import wait_until

PETS = 10_000
PROCESSORS = sorted(os.sched_getaffinity(0))
FIRST, LAST = PROCESSORS[0], PROCESSORS[-1]
SECONDS = 2
HOSTILE_CLIENTS = 200
# Maximum seconds between two requests of the measured client.
PAUSE = 0.01


class Kind(NamedTuple):
    """A kind of request. `script` is Lua for wrk, with a function that makes each request."""

    name: str
    path: str
    headers: tuple[str, ...] = ()
    script: str = ""


def kinds(service: Service, key: str) -> list[Kind]:
    """Return the kinds of request that need no key and no session, and that of a valid key, for a running service."""
    return [
        Kind("home page", "/"),
        Kind("documentation", "/docs"),
        Kind("OpenAPI document", "/openapi.json"),
        Kind("static file, 0.2 KiB", "/static/guides/docs.css"),
        Kind("static file, 1.5 MiB", "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"),
        Kind("login page", "/admin/login/"),
        Kind("login, wrong password", "/admin/login/", script=_login_script(service)),
        Kind("page without a session", "/admin/pets/pet/"),
        Kind("page, invented session", "/admin/pets/pet/", (f"Cookie: sessionid={'x' * 32}",)),
        Kind("/ready", "/ready"),
        Kind("/v1/health", "/v1/health"),
        Kind("unknown path", "/nowhere"),
        Kind("unknown path of the API", "/v1/nowhere"),
        Kind("no key", "/v1/pets"),
        Kind("valid key", "/v1/pets?limit=1", (f"X-API-Key: {key}",)),
        Kind("malformed key", "/v1/pets", ("X-API-Key: pets_test_guess",)),
        Kind("unknown key", "/v1/pets", (f"X-API-Key: {keys.generate('test')}",)),
    ]


def _login_script(service: Service) -> str:
    """Return Lua for logins with a wrong password, each for another account from another address.

    The service trusts loopback clients as proxies, so these clients can claim any client address.
    """
    with service.client() as client:
        token = client.get("/admin/login/").cookies["csrftoken"]
    return f"""
wrk.headers["Cookie"] = "csrftoken={token}"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
function request()
  local random = math.random
  wrk.headers["X-Forwarded-For"] = random(1, 223) .. ".0." .. random(0, 255) .. "." .. random(1, 254)
  return wrk.format("POST", nil, nil,
    "password=guess&csrfmiddlewaretoken={token}&username=" .. random(1, 1000000))
end
"""


def latencies(service: Service, request: bytes) -> list[float]:
    """Return the milliseconds from each request to its response."""
    waits = []
    # This thread, but not its child processes, runs as soon as it has something to do.
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    with Client(service) as client:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            began = time.perf_counter()
            assert client.response_to(request).status == 200
            waits.append((time.perf_counter() - began) * 1000)
            time.sleep(random.uniform(0, PAUSE))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return waits[1:]  # the first one waits with those of strangers


def hostile_latencies(service: Service, request: bytes, target: Service, kind: Kind, folder: Path) -> list[float]:
    """Return the same while hostile clients request a path of `target` without pauses."""
    url, options = target.url + kind.path, {"folder": folder, "connections": HOSTILE_CLIENTS, "seconds": 600}
    wrk = Wrk(url, kind.headers, kind.script, **options)
    try:
        time.sleep(1)  # until the clients are at full speed
        return latencies(service, request)
    finally:
        wrk.responses(now=True)


def wait_until_idle(service: Service) -> None:
    """Wait until the service has ended the work of earlier hostile clients, such as checks of passwords."""

    def is_idle() -> bool:
        before = cpu_seconds(service.process.pid)
        time.sleep(0.3)
        return cpu_seconds(service.process.pid) - before < 0.03

    wait_until(is_idle)


def p99(waits: Sequence[float]) -> float:
    return statistics.quantiles(waits, n=100, method="inclusive")[98]


def cell(api: Service, request: bytes, target: Service, kind: Kind, folder: Path, rounds: int) -> str:
    """Return the p99 of the API without and with hostile clients of `target`, and the ratio."""
    without, with_them = [], []
    for _ in range(rounds):
        for service in (api, target):
            wait_until_idle(service)
        without += latencies(api, request)
        with_them += hostile_latencies(api, request, target, kind, folder)
    return f"{p99(without):.1f} → {p99(with_them):.1f}: **{p99(with_them) / p99(without):.1f}**"


@contextmanager
def pinned_service(folder: Path, processor: int, url: str) -> Iterator[Service]:
    """Run the service with one worker on a processor, and this process and its clients on the last."""
    folder.mkdir()
    os.sched_setaffinity(0, [processor])
    try:
        with running_service(folder, WEB_CONCURRENCY="1", DATABASE_URL=url) as service:
            os.sched_setaffinity(0, [LAST])
            yield service
    finally:
        os.sched_setaffinity(0, PROCESSORS)


def measure(name: str, folder: Path, options: argparse.Namespace) -> None:
    """Print a row for each kind: the hostile clients request the API's process, and then the pages' for a page."""
    with (
        seeded_database(name, PETS) as seeded,
        pinned_service(folder / "api", FIRST, seeded.database.url) as api,
        pinned_service(folder / "pages", LAST, seeded.database.url) as pages,
    ):
        request = get(f"/v1/pets/{seeded.pet}", f"X-API-Key: {seeded.key}".encode())
        print_header("hostile clients", "one process, p99 of the API in ms", "pages apart, p99 in ms")
        for kind in kinds(api, seeded.key):
            targets = [api] if kind.path.startswith("/v1/") else [api, pages]
            cells = [cell(api, request, target, kind, folder, options.rounds) for target in targets]
            print_row(kind.name, *[*cells, ""][:2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    options = parser.parse_args()
    for name in options.databases:
        command = f"python -m tests.benchmarks.strangers --rounds {options.rounds}"
        print(f"\n{name}, {conditions('Django', 'gunicorn')}; `{command}`")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            measure(name, Path(folder), options)


if __name__ == "__main__":
    main()
