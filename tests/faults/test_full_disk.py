"""With SQLite on a full disk, writes fail and reads succeed, and writes succeed again with free space."""

import os
import shutil
import signal
import sqlite3
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.faults.load import Load, lost, running_load
from tests.service import Service, refusal, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A separate file system of eight megabytes in memory."""
    if os.geteuid() != 0:
        pytest.fail(
            "Only root may mount a small disk; others run these tests with "
            "`unshare --map-root-user --mount python -m pytest -m faults tests/faults/test_full_disk.py`"
        )
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(disk: Path) -> None:
    """Fill the file system to the last byte."""
    with (disk / "full").open("ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


def assert_reads_succeed(service: Service, key: str, pet: str) -> None:
    # Several connections, so that every worker gets requests.
    for _ in range(8):
        with service.client(key) as client:
            paths = (f"/v1/pets/{pet}", "/v1/pets?limit=10", "/v1/store/inventory", "/v1/health", "/ready")
            assert [client.get(path).status_code for path in paths] == [200] * 5


def assert_writes_fail(service: Service, key: str) -> None:
    """Wait until writes fail, with and without an idempotency key, and check their error."""
    with service.client(key) as client:
        wait_until(lambda: fails(client))
        wait_until(lambda: fails(client, {"Idempotency-Key": str(uuid.uuid4())}))


def fails(client: httpx.Client, headers: dict[str, str] | None = None) -> bool:
    """Return whether a write fails, which it does once the free space inside the database's files is used up, too.

    SQLite writes its log from the beginning again when no reader needs it, for example after a worker was killed.
    """
    pet = {"name": str(uuid.uuid4()).ljust(255, "x"), "tag": "x" * 255}
    response = client.post("/v1/pets", json=pet, headers=headers)
    if response.status_code == 201:
        return False
    assert (response.status_code, response.json()["error"]["code"]) == (500, "internal_error")
    return True


def test_writes_fail_only_while_the_disk_is_full_and_reads_never_do(tmp_path: Path, migrated: Path, disk: Path) -> None:
    database = disk / "petservice.sqlite3"
    shutil.copy(migrated, database)
    with running_service(tmp_path, DATABASE_URL=f"sqlite:///{database}", WEB_CONCURRENCY="2") as service:
        key, unused = service.create_key(), service.create_key()
        load = Load(service, key, pause=0)  # so that the free space in the database's files is soon used up
        with running_load(load, 6, retrying=2):
            load.wait_for(50)
            fill(disk)
            wait_until(lambda: load.saw["POST 500 internal_error"] > 20)
            pet = next(iter(load.created.values()))
            assert_writes_fail(service, key)
            assert_reads_succeed(service, key, pet)
            # The use of a key cannot be recorded, but the requests are allowed.
            assert_reads_succeed(service, unused, pet)
            # A worker that starts now must work on the full disk as well.
            before = service.workers()
            os.kill(before[0], signal.SIGKILL)
            wait_until(lambda: len(service.workers()) == 2 and service.workers() != before)
            assert_reads_succeed(service, key, pet)
            assert_writes_fail(service, key)
            (disk / "full").unlink()
            load.wait_for(50)
        assert lost(load) == []
        with closing(sqlite3.connect(database)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_service_reports_a_full_disk_at_the_start_and_starts_with_free_space(
    tmp_path: Path, migrated: Path, disk: Path
) -> None:
    variables = {"PETSERVICE_DATA_DIR": str(disk), "DATABASE_URL": "", "SECRET_KEY": ""}
    fill(disk)
    assert "No space left on device" in refusal(disk)
    assert [path.name for path in disk.iterdir()] == ["full"]
    (disk / "full").unlink()
    shutil.copy(migrated, disk)
    with running_service(tmp_path, **variables) as service:
        key = service.create_key()
        with running_load(Load(service, key), 2) as load:
            load.wait_for(20)
    fill(disk)
    output = refusal(disk)
    assert "The database cannot be used" in output or "No space left on device" in output
    (disk / "full").unlink()
    with running_service(tmp_path, **variables) as service:
        assert lost(load, service) == []
