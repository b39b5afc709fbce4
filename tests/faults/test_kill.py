"""After `kill -9`, pets whose creation got 201 exist once, no change is half done, and the service works again."""

import os
import re
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.faults.load import Load, lost, running_load
from tests.service import Service, free_port, log_in, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

LIST = "/admin/pets/pet/"
# A trigger that writes rows of the journal slowly, when a bulk change has written the pets. SQLite's never ends.
SLOW = {
    "sqlite": """CREATE TRIGGER slow BEFORE INSERT ON journal_item BEGIN
        WITH RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n FROM endless) SELECT max(n) FROM endless; END""",
    "postgres": """CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(1); RETURN NEW; END'; CREATE TRIGGER slow BEFORE INSERT ON journal_item
        FOR EACH ROW EXECUTE FUNCTION slow()""",
}


def kill(service: Service) -> None:
    for pid in [service.process.pid, *service.workers()]:
        os.kill(pid, signal.SIGKILL)
    assert service.process.wait(timeout=10) == -signal.SIGKILL


def test_killed_service_starts_again_without_losing_acknowledged_pets(tmp_path: Path, database_url: str) -> None:
    port = free_port()
    with ExitStack() as stack:

        def start() -> Service:
            return stack.enter_context(running_service(tmp_path, port=port, DATABASE_URL=database_url))

        service = start()
        key = service.create_key()
        with running_load(Load(service, key), 12, retrying=4) as load:
            load.wait_for(50)
            kill(service)
            start()
            load.wait_for(50)
        assert lost(load) == []


def test_a_bulk_change_in_whose_middle_the_service_is_killed_is_not_begun(tmp_path: Path, database_url: str) -> None:
    engine = database_url.partition(":")[0].removesuffix("ql")
    with running_service(tmp_path, DATABASE_URL=database_url) as service:
        service.create_staff("ada", "correct horse")
        with service.client(service.create_key()) as client:
            for _ in range(3):
                client.post("/v1/pets", json={"name": "Rex"})
        before = pets_and_events(service)
        with service.client() as client, ThreadPoolExecutor() as pool:
            log_in(client, "ada", "correct horse")
            boxes = re.findall('type="checkbox" name="selection" value="([^"]+)"', client.get(LIST).text)
            service.execute(SLOW[engine])
            form = {"action": "mark_as_sold", "index": "0", "csrfmiddlewaretoken": client.cookies["csrftoken"]}
            chosen = {"selection": boxes, "_selected_action": boxes[0].partition(":")[0]}
            sent = pool.submit(client.post, LIST, data=form | chosen)
            wait_until(lambda: is_writing(service, engine), 20)
            kill(service)
            with pytest.raises(httpx.TransportError):
                sent.result()

    assert (len(boxes), pets_and_events(service)) == (3, before)


def pets_and_events(service: Service) -> list[object]:
    """Return the pets, the counts of the inventory, and the changes of pets in the journal."""
    counts = "SELECT status, sum(count) FROM store_inventorycounter GROUP BY status HAVING sum(count) > 0"
    events = "SELECT kind FROM journal_event WHERE record_type = 'pets.pet'"
    return [service.execute(query) for query in ("SELECT * FROM pets_pet ORDER BY id", counts, events)]


def is_writing(service: Service, engine: str) -> bool:
    """Return whether a statement is in the trigger, which on SQLite keeps the lock of the only writer."""
    if engine == "postgres":
        return bool(service.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"))
    with service.database() as database:
        database.execute("PRAGMA busy_timeout = 2000")
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False
