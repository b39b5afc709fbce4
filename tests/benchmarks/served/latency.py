"""Latencies at half of the rate that saturates the service, and with staff on heavy pages."""

import statistics
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx

from tests.benchmarks.databases import databases
from tests.benchmarks.load import CONNECTIONS, Load, Pauses, heads, load, row
from tests.benchmarks.served.chance import by_chance, haproxy
from tests.benchmarks.served.sizes import FEW, WORKERS
from tests.benchmarks.service import Service, running_service


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
