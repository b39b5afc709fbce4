"""The latency at 50 % load, and while staff load heavy pages."""

import statistics
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx

from tests.benchmarks.databases import databases
from tests.benchmarks.load import CONNECTIONS, Load, Pauses, heads, load, row
from tests.benchmarks.served.queueing import haproxy, simulated_load
from tests.benchmarks.served.sizes import FEW, WORKERS
from tests.service import Service, running_service


@contextmanager
def staff_on_heavy_pages(service: Service) -> Iterator[list[int]]:
    """Let a member of staff load heavy admin pages without pause, and count the pages in the yielded list."""
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


def at_half(send: Callable[[Pauses | None], Load], pauses: Callable[[float], Pauses]) -> tuple[float, Pauses]:
    """Return the throughput at saturation, and the pauses with which the clients cause 50 % load."""
    saturated = send(None).rate
    period = 2 * CONNECTIONS / saturated * 1000
    # Each client pauses for the rest of the period after its response.
    latency = CONNECTIONS / send(pauses(period)).rate * 1000 - period
    return saturated, pauses(period - latency)


def latency(name: str, folder: Path, rounds: int) -> None:
    with (
        databases(name, FEW) as (seeded,),
        running_service(folder, DATABASE_URL=seeded.url, WEB_CONCURRENCY=str(WORKERS)) as service,
        haproxy(folder) as control,
    ):
        heads(f"{name}, latency in ms")
        for operation in ("fetch one pet", "list 100 pets"):
            load(service, seeded, operation, 1)
            for arrivals, kind in (("steady", Pauses.steady), ("random", Pauses.random)):
                send = partial(load, service, seeded, operation, 4)
                ours, theirs, from_saturation, from_cpu_time, rates = [], [], [], [], []
                for _ in range(rounds):
                    saturated, pauses = at_half(send, kind)
                    rates.append(saturated)
                    ours.append(send(pauses))
                    theirs.append(send(pauses, control))
                    from_saturation.append(simulated_load(1000 * WORKERS / saturated, pauses))
                    from_cpu_time.append(simulated_load(1000 * ours[-1].cpu / ours[-1].requests, pauses))
                rate = statistics.median(one.rate for one in ours)
                maximum = statistics.median(rates)
                row(f"{operation}, {arrivals}, 50 % load: {rate:.0f} of {maximum:.0f} requests/s", ours)
                row("  queueing simulation, service time from saturation", from_saturation)
                row("  queueing simulation, service time from CPU time", from_cpu_time)
                row(f"  HAProxy, {statistics.median(one.rate for one in theirs):.0f} requests/s", theirs)
        alone, with_pages, pages = [], [], 0
        for _ in range(rounds):
            alone.append(load(service, seeded, "fetch one pet", 5, Pauses.random(20)))
            with staff_on_heavy_pages(service) as loaded:
                with_pages.append(load(service, seeded, "fetch one pet", 5, Pauses.random(20)))
            pages += loaded[0]
        row(f"fetch one pet, {statistics.median(one.rate for one in alone):.0f} requests/s", alone)
        row(f"  with {pages / rounds / 5:.0f} admin pages/s", with_pages)
