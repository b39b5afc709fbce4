"""A database is restored to a time between two pets, as postgresql.md says."""

from pathlib import Path

import pytest

from tests.documents import block
from tests.faults.load import Load, all_pets, lost, running_load
from tests.faults.servers import account_folder, new_server, primary, replica, run_lines
from tests.service import manage, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

COMMANDS = (
    block("postgresql.md", "archive"),
    block("postgresql.md", "base-backup"),
    block("postgresql.md", "recovery"),
)
# The time in the guide.
TIME = "2026-11-26 14:03:00+00"
# The last file of the log that is finished is in the archive.
ARCHIVED = "SELECT last_archived_wal >= '{}' FROM pg_stat_archiver"


def test_a_database_is_restored_to_a_time_between_two_pets(tmp_path: Path, cluster: Path) -> None:
    with account_folder() as backup, primary(cluster) as old, new_server() as new:
        archive, base_backup, recovery = (lines.replace("/backup/", f"{backup}/") for lines in COMMANDS)
        old.run(f"mkdir {backup}/wal")
        old.sql(archive)
        old.stop("fast")
        old.start()
        with running_service(tmp_path, DATABASE_URL=old.url) as service:
            key = service.create_key()
            with running_load(Load(service, key), 4) as kept:
                kept.wait_for(50)
                old.run(base_backup, PRIMARY=old.empty_url)
                kept.wait_for(50)
            at = old.sql("SELECT clock_timestamp()")
            with running_load(Load(service, key), 1) as mistaken:
                mistaken.wait_for(20)
            last = old.sql("SELECT pg_walfile_name(pg_switch_wal())")  # the server finishes this file of its log
            wait_until(lambda: old.sql(ARCHIVED.format(last)) == "t")
            report = manage("doctor", DATABASE_URL=old.url).stdout
            assert "PostgreSQL archives its log. The last file was archived: 20" in report
            old.sql("ALTER SYSTEM SET archive_command = 'false'; SELECT pg_reload_conf(); SELECT pg_switch_wal()")
            wait_until(lambda: old.sql("SELECT failed_count > 0 FROM pg_stat_archiver") == "t")
            report = manage("doctor", DATABASE_URL=old.url).stdout
            assert "PostgreSQL cannot archive its log. The last file was archived: 20" in report
        old.stop()

        new.run(recovery.replace(TIME, at))
        new.start(fsync="on")
        wait_until(lambda: new.sql("SELECT pg_is_in_recovery()") == "f")

        output = run_lines(block("postgresql.md", "recovered"), tmp_path, PRIMARY=new.empty_url, DATABASE_URL=new.url)
        assert f"available | {len(kept.created):5} |" in output
        assert "corrected" not in output
        with running_service(tmp_path, DATABASE_URL=new.url) as service, service.client(key) as client:
            assert lost(kept, service) == []
            ids = {pet for found in all_pets(client).values() for pet in found}
            assert ids.isdisjoint(mistaken.created.values())
            assert client.post("/v1/pets", json={"name": "Tom"}).status_code == 201
        with replica(of=new) as standby:
            new.sql("CREATE TABLE written ()")
            wait_until(lambda: standby.sql("SELECT pg_is_in_recovery(), to_regclass('written')") == "t|written")


def test_a_file_of_the_log_is_archived_again_after_an_interruption_but_replaces_no_other(tmp_path: Path) -> None:
    copy = COMMANDS[0].split("'")[-2].replace("/backup/", "").replace("%p", "1").replace("%f", "1")
    lines = f"mkdir wal && echo x >1 && ! (ulimit -f 0; {copy}) && ({copy}) && ({copy}) && echo y >1 && ! ({copy})"
    run_lines(lines, tmp_path)
