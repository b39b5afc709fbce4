"""`python -m tests.benchmarks.strangers` measures what clients without a key cost, and how they affect others.

It needs `wrk` and prints these tables:

- costs: The cost of one request or connection of each kind, sent in sequence on one connection. The columns are the
  CPU time of all processes of the service, and the memory that stays allocated. The last two are whether threads other
  than the event loop's work, and the time.
- ratios: The p99 latency of others, without and with 200 hostile clients of each kind, which send requests without
  pause. The row of the valid key shows what as many ordinary clients do. The others are an API client with a key, a
  member of staff on an admin page, and probes of /ready. All keep their connections and pause between requests. The
  two measurements alternate.
- apart: The same for the API client and pages, if one process serves both, and if the pages have a process of their own
  with a niceness of 10. Both processes share one processor, and the latency is the elapsed time.

The ratios show how requests wait for each other in the service, on one processor for all threads of its worker. They
exclude how the kernel shares a processor between the service and its clients:

- The service has one worker, so that no other worker serves requests in its place. It is bound to one processor, and
  all clients are bound to another one.
- The latency is the processor time that the worker uses from the request to its response. On a processor of its own,
  this equals the elapsed time, because the worker never sleeps while it serves hostile clients.
- The measured client runs as soon as it has something to do (SCHED_FIFO, which needs root).
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from petservice.paths import API
from tests.benchmarks.databases import DATABASES, Seeded, seeded_database
from tests.benchmarks.processes import conditions
from tests.benchmarks.strangers.costs import costs
from tests.benchmarks.strangers.kinds import Kind, client_of, kinds
from tests.benchmarks.strangers.ratios import Other, ratios
from tests.service import Service, log_in, make_certificate, running_service

TABLES = ["costs", "ratios", "apart"]
PETS = 10_000
# Connections that request /ready in turn. Each pauses for about 0.25 seconds, so that it asks less often than a hostile
# client, but more often than a load balancer.
PROBES = 50
# Gives the pages a tenth of the processor time of the API while both want all of it, as CPUWeight=10 does.
NICENESS = 10
PROCESSORS = sorted(os.sched_getaffinity(0))


@contextmanager
def on_processor(processor: int) -> Iterator[None]:
    """Bind the processes that this process starts to one of its processors."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {PROCESSORS[processor]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def niceness(value: int) -> Iterator[None]:
    """Give a niceness to the processes that this process starts."""
    os.setpriority(os.PRIO_PROCESS, 0, value)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, 0)


@contextmanager
def pinned_service(folder: Path, **variables: str) -> Iterator[Service]:
    """Run the service with one worker on the first processor, and this process and its clients on the last."""
    folder.mkdir()
    with on_processor(0):
        manager = running_service(folder, WEB_CONCURRENCY="1", **variables)
        service = manager.__enter__()
    try:
        with on_processor(-1):
            yield service
    finally:
        manager.__exit__(None, None, None)


def api_client(key: str, pet: str) -> Other:
    return Other("API", f"/v1/pets/{pet}", (f"X-API-Key: {key}",), 0.01)


def others(service: Service, key: str, pet: str) -> list[Other]:
    """Return the measured clients."""
    with client_of(service) as client:
        log_in(client, "staff", "a long one")
        session = f"Cookie: sessionid={client.cookies['sessionid']}"
    return [
        api_client(key, pet),
        Other("admin page", "/admin/pets/pet/", (session,), 0.01),
        Other("/ready", "/ready", (), 0.01, PROBES),
    ]


def measure(name: str, folder: Path, options: argparse.Namespace) -> None:
    certificate, private_key = make_certificate(folder)
    with seeded_database(name, PETS) as seeded:
        plain, tls = {}, {"TLS_CERTFILE": str(certificate), "TLS_KEYFILE": str(private_key)}
        for place, variables in enumerate((plain, tls)):
            with pinned_service(folder / str(place), DATABASE_URL=seeded.url, **variables) as service:
                if service.execute("SELECT count(*) FROM auth_user WHERE username = 'staff'") == [(0,)]:
                    service.create_staff("staff", "a long one")
                chosen = [kind for kind in kinds(service) if _needs_tls(kind) == bool(variables)]
                chosen = [kind for kind in chosen if not options.kinds or kind.name in options.kinds]
                if chosen and "costs" in options.tables:
                    costs(service, chosen, folder, options.rounds)
                if chosen and "ratios" in options.tables:
                    ratios(service, chosen, others(service, seeded.key, seeded.pet), folder, options.rounds)
        if "apart" in options.tables:
            apart(seeded, folder, options)


def apart(seeded: Seeded, folder: Path, options: argparse.Namespace) -> None:
    """Print how floods of pages affect the API, without and with a process for the pages."""
    with ExitStack() as stack:
        api = stack.enter_context(pinned_service(folder / "api", DATABASE_URL=seeded.url))
        with niceness(NICENESS):
            pages = stack.enter_context(pinned_service(folder / "pages", DATABASE_URL=seeded.url))
        chosen = [kind for kind in kinds(pages) if kind.path and not kind.path.startswith(API)]
        chosen = [kind for kind in chosen if not options.kinds or kind.name in options.kinds]
        client = api_client(seeded.key, seeded.pet)
        for title, target in (("one process for both", api), ("pages in a process of their own", pages)):
            print(f"\n{title}, elapsed time:")
            ratios(api, chosen, [client], folder, options.rounds, target=target)


def _needs_tls(kind: Kind) -> bool:
    return kind.name.startswith("TLS")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=TABLES, metavar="TABLE", help="costs, ratios, apart")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--kinds", nargs="+", help="names of kinds, as in the tables")
    options = parser.parse_args()
    for name in options.databases:
        command = f"python -m tests.benchmarks.strangers --rounds {options.rounds}"
        print(f"\n{name}, {conditions('Django', 'gunicorn')}; `{command}`")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            measure(name, Path(folder), options)


if __name__ == "__main__":
    main()
