"""`kill -9` under a storm of POSTs: what was answered is there, once, and the service starts again by itself."""

import os
import random
import signal
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from tests.faults.conftest import Outcome
from tests.faults.load import Storm, all_pets, lost, storm
from tests.service import Service, free_port, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

TIMES = 10


def workers(service: Service) -> list[int]:
    """The process ids of the worker processes."""
    master = service.process.pid
    return [int(pid) for pid in Path(f"/proc/{master}/task/{master}/children").read_text().split()]


def kept_and_counted(url: str) -> tuple[int, int]:
    """What the database's triggers have counted as available, and how many pets are."""
    kept = "SELECT sum(count) FROM store_inventorycounter WHERE status = 'available'"
    counted = "SELECT count(*) FROM pets_pet WHERE status = 'available'"
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
            return database.execute(kept).fetchone()[0], database.execute(counted).fetchone()[0]
    with psycopg.connect(url) as server:
        return server.execute(kept).fetchone()[0], server.execute(counted).fetchone()[0]


def judge(service: Service, key: str, account: Storm, url: str) -> tuple[list[str], str]:
    """The names of lost pets, and what the clients saw; fails if a retry made a second pet or the counts are wrong."""
    with service.client(key) as client:
        pets = all_pets(client)
        inventory = client.get("/v1/store/inventory").json()
    assert [name for name in account.insistent if len(pets[name]) != 1] == []
    assert [name for name, ids in pets.items() if len(ids) > 1] == []
    there = len(pets)
    assert inventory == {"available": there, "pending": 0, "sold": 0}
    assert kept_and_counted(url) == (there, there)
    assert "corrected" not in service.manage("reconcile_inventory")
    unanswered = len(pets.keys() - account.created.keys())
    return lost(account, pets), f"{account.summary()}; {unanswered} pets without an answer"


def test_killed_worker_loses_no_answered_pet(
    tmp_path: Path, database_url: str, tell: Callable[[Outcome], None]
) -> None:
    with running_service(tmp_path, DATABASE_URL=database_url, WEB_CONCURRENCY="2") as service:
        key = service.create_key()
        with storm(Storm(service.url, key), 12, insistent=4) as account:
            for _ in range(TIMES):
                account.wait_for(50)
                before = workers(service)
                os.kill(random.choice(before), signal.SIGKILL)
                wait_until(lambda before=before: set(workers(service)) != set(before) and len(workers(service)) == 2)
            account.wait_for(50)
        gone, saw = judge(service, key, account, database_url)
        kind = database_url.partition(":")[0]
        tell(Outcome(f"a worker killed, {kind}", TIMES, saw, len(gone)))


def test_killed_service_starts_again_and_has_lost_no_answered_pet(
    tmp_path: Path, database_url: str, tell: Callable[[Outcome], None]
) -> None:
    port = free_port()
    with ExitStack() as stack:

        def start() -> Service:
            return stack.enter_context(running_service(tmp_path, port=port, DATABASE_URL=database_url))

        service = start()
        key = service.create_key()
        with storm(Storm(service.url, key), 12, insistent=4) as account:
            for _ in range(TIMES):
                account.wait_for(50)
                for pid in [service.process.pid, *workers(service)]:
                    os.kill(pid, signal.SIGKILL)
                assert service.process.wait(timeout=10) == -signal.SIGKILL
                service = start()
            account.wait_for(50)
        gone, saw = judge(service, key, account, database_url)
        kind = database_url.partition(":")[0]
        tell(Outcome(f"all processes killed, {kind}", TIMES, saw, len(gone)))
