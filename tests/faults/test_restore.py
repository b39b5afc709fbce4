"""`restore_database` makes a SQLite database in a place without one, and otherwise changes nothing."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from petservice.db.sqlite.base import exclude_services
from tests.faults.restores import NAME, files, pets, refusal, run
from tests.processes import start
from tests.service import free_port, running_service, stopped_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults


def test_a_backup_becomes_the_database(tmp_path: Path, backup: Path) -> None:
    target = tmp_path / NAME

    status, output = run(tmp_path, "restore_database", backup)

    assert status == 0, output
    assert f"{target} is restored from {backup}." in output
    assert [*files(tmp_path)] == [NAME]
    ((message,),) = stopped_service(tmp_path).execute("SELECT message FROM journal_event WHERE kind = 'restored'")
    assert message == (
        f"Backup restored by the command restore_database. Run by the operating system user {target.owner()}."
    )
    assert pets(tmp_path) == ["Rex"]
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_backup_of_an_earlier_version_is_restored_without_an_event(tmp_path: Path) -> None:
    earlier, file = tmp_path / "earlier", tmp_path / "earlier.backup"
    earlier.mkdir()
    assert run(earlier, "migrate", "pets", "0001", "--verbosity", "0")[0] == 0
    assert run(earlier, "backup_database", file)[0] == 0

    status, output = run(tmp_path, "restore_database", file)

    assert status == 0
    assert "The audit cannot be written (" in output
    assert "The database is restored." in output


@pytest.mark.parametrize("name", [NAME, f"{NAME}-wal"])
def test_a_database_is_not_replaced_and_gets_no_log_of_another(
    tmp_path: Path, migrated: Path, backup: Path, name: str
) -> None:
    shutil.copy(migrated, tmp_path / name)
    before = files(tmp_path)

    assert f"{tmp_path / name}: it exists and is not replaced: " in refusal(tmp_path, backup)
    assert files(tmp_path) == before


def test_what_is_no_backup_is_refused_and_leaves_no_database(tmp_path: Path, backup: Path) -> None:
    (folder := tmp_path / "data").mkdir()
    file = tmp_path / "wrong.backup"
    assert f"there is no file {file}" in refusal(folder, file)
    file.mkdir()
    assert f"there is no file {file}" in refusal(folder, file)
    file.rmdir()

    content = backup.read_bytes()
    for wrong, sentence in (
        (b"a letter " * 1000, "file is not a database"),
        (b"", "no such table: pets_pet"),
        (content[: len(content) // 2], "database disk image is malformed"),
        (content[:8192] + b"x" * 8192 + content[16384:], "database disk image is malformed"),
    ):
        file.write_bytes(wrong)
        assert f"{sentence}. Nothing was restored from {file}." in refusal(folder, file)

    shutil.copy(backup, file)
    with stopped_service(tmp_path, f"sqlite:///{file}").database() as database:
        # A row that its table does not allow, which only a check of the whole file finds.
        database.execute("CREATE TABLE song (name)")
        database.execute("INSERT INTO song VALUES (NULL)")
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_schema SET sql = 'CREATE TABLE song (name NOT NULL)' WHERE name = 'song'")
    assert f"{file} is damaged (NULL value in song.name)" in refusal(folder, file)

    shutil.copy(backup, file)
    Path(f"{file}-wal").write_text("the last changes")
    assert f"{file} is a database in use, not a backup, because it has a -wal" in refusal(folder, file)
    assert files(folder) == {}


def test_a_running_service_is_not_replaced_and_a_killed_one_is(tmp_path: Path, migrated: Path, backup: Path) -> None:
    """Even if the service has not opened its database yet, and as long as one of its processes runs."""
    shutil.copy(migrated, tmp_path / NAME)
    with running_service(tmp_path, DATABASE_URL="") as service:
        assert f"The service runs on {tmp_path / NAME}" in refusal(tmp_path, backup)

        started = service.workers()
        for pid in started:
            os.kill(pid, signal.SIGSTOP)
        service.process.kill()
        service.process.wait()
        assert "The service runs" in refusal(tmp_path, backup)

        for pid in started:
            os.kill(pid, signal.SIGKILL)
        for log in ("", "-wal", "-shm"):
            (tmp_path / f"{NAME}{log}").unlink(missing_ok=True)
        wait_until(lambda: run(tmp_path, "restore_database", backup)[0] == 0)
    assert pets(tmp_path) == ["Rex"]


def test_a_service_that_starts_during_a_restore_waits_for_its_end(tmp_path: Path) -> None:
    with exclude_services(tmp_path / NAME):
        environment = os.environ | {"DATABASE_URL": "", "PETSERVICE_DATA_DIR": str(tmp_path)}
        log = tmp_path / "log"
        process = start(["manage.py", "serve", "--bind", f"127.0.0.1:{free_port()}"], environment, log, log)
        waiting = re.compile(rf"-> FLOCK +ADVISORY +READ +{process.pid} ")
        wait_until(lambda: waiting.search(Path("/proc/locks").read_text()))
        assert not (tmp_path / NAME).exists()
    wait_until((tmp_path / NAME).exists)
    process.terminate()
    process.wait(timeout=60)
