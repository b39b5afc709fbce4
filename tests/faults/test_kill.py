"""After `kill -9` under load, every pet whose creation got 201 exists once, and the service works again."""

import os
import random
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.conftest import Outcome
from tests.faults.load import Load, all_pets, lost, running_load
from tests.service import Service, free_port, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

TIMES = 5
# Fewer, because each start of the service takes about as long as everything else between two of them.
STARTS = 2
# The stored count of available pets, and their actual number.
STORED_AND_ACTUAL_COUNT = """
SELECT (SELECT sum(count) FROM store_inventorycounter WHERE status = 'available'),
(SELECT count(*) FROM pets_pet WHERE status = 'available')
"""


def check_pets(service: Service, key: str, load: Load) -> tuple[list[str], str]:
    """Return the names of lost pets and a summary, and fail if a retry created a second pet or a count is wrong."""
    with service.client(key) as client:
        pets = all_pets(client)
        inventory = client.get("/v1/store/inventory").json()
    assert [name for name in load.retried if len(pets[name]) != 1] == []
    assert [name for name, ids in pets.items() if len(ids) > 1] == []
    number = len(pets)
    assert inventory == {"available": number, "pending": 0, "sold": 0}
    assert service.execute(STORED_AND_ACTUAL_COUNT) == [(number, number)]
    assert "corrected" not in service.manage("reconcile_inventory")
    unacknowledged = len(pets.keys() - load.created.keys())
    return lost(load, pets), f"{load.summary()}; {unacknowledged} pets without a response"


def test_killed_worker_loses_no_acknowledged_pet(
    tmp_path: Path, database_url: str, report: Callable[[Outcome], None]
) -> None:
    with running_service(tmp_path, DATABASE_URL=database_url, WEB_CONCURRENCY="2") as service:
        key = service.create_key()
        with running_load(Load(service.url, key), 12, retrying=4) as load:
            for _ in range(TIMES):
                load.wait_for(50)
                before = service.workers()
                os.kill(random.choice(before), signal.SIGKILL)
                wait_until(lambda before=before: set(service.workers()) != set(before) and len(service.workers()) == 2)
            load.wait_for(50)
        gone, saw = check_pets(service, key, load)
        kind = database_url.partition(":")[0]
        report(Outcome(f"a worker killed, {kind}", TIMES, saw, len(gone)))


def test_killed_service_starts_again_without_losing_acknowledged_pets(
    tmp_path: Path, database_url: str, report: Callable[[Outcome], None]
) -> None:
    port = free_port()
    with ExitStack() as stack:

        def start() -> Service:
            return stack.enter_context(running_service(tmp_path, port=port, DATABASE_URL=database_url))

        service = start()
        key = service.create_key()
        with running_load(Load(service.url, key), 12, retrying=4) as load:
            for _ in range(STARTS):
                load.wait_for(50)
                for pid in [service.process.pid, *service.workers()]:
                    os.kill(pid, signal.SIGKILL)
                assert service.process.wait(timeout=10) == -signal.SIGKILL
                service = start()
            load.wait_for(50)
        gone, saw = check_pets(service, key, load)
        kind = database_url.partition(":")[0]
        report(Outcome(f"all processes killed, {kind}", STARTS, saw, len(gone)))
