"""After `kill -9` under load, every pet whose creation got 201 exists once, and the service works again."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.load import Load, lost, running_load
from tests.service import Service, free_port, running_service

pytestmark = pytest.mark.faults

STARTS = 2


def test_killed_service_starts_again_without_losing_acknowledged_pets(tmp_path: Path, database_url: str) -> None:
    port = free_port()
    with ExitStack() as stack:

        def start() -> Service:
            return stack.enter_context(running_service(tmp_path, port=port, DATABASE_URL=database_url))

        service = start()
        key = service.create_key()
        with running_load(Load(service, key), 12, retrying=4) as load:
            for _ in range(STARTS):
                load.wait_for(50)
                for pid in [service.process.pid, *service.workers()]:
                    os.kill(pid, signal.SIGKILL)
                assert service.process.wait(timeout=10) == -signal.SIGKILL
                service = start()
            load.wait_for(50)
        assert lost(load) == []
