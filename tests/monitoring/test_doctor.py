"""The command `doctor` and its page: what is wrong with an installation, and what to do."""

import json
import os
import re
import shutil
import time
from collections import namedtuple
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pets.models import Pet
from petservice import __version__
from petservice.accounts import groups
from petservice.backoffice import installation
from petservice.db.backend import backend
from petservice.journal.models import Event
from store.models import InventoryCounter
from tests.backoffice.staff import staff
from tests.concurrent_write import only_on_postgresql, second_connection
from tests.databases import url_of_the_test_database
from tests.redis_server import RedisServer
from tests.service import free_port, make_certificate, manage


def report() -> dict[tuple[str, str], str]:
    """Return the findings of the command by their subjects and levels, after a check of its exit status."""
    output = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--json", stdout=output)
    checks = json.loads(output.getvalue())["checks"]
    found = {(one["subject"], one["level"]): f"{one['text']} {one['advice'] or ''}".strip() for one in checks}
    levels = {level for _, level in found}
    assert ended.value.code == (2 if "error" in levels else 1 if "warning" in levels else 0)
    if connection.vendor == "postgresql":  # the tests' own does not wait for the disk
        assert found.pop(("database", "error")).startswith("fsync is off, so a crash of the server can lose pets")
    return found


@pytest.fixture
def backed_up(db: None, settings: Any, tmp_path: Path) -> Path:
    settings.LAST_BACKUP = tmp_path / "last-backup"
    settings.LAST_BACKUP.touch()
    return settings.LAST_BACKUP


def test_a_sound_installation_has_no_warning(backed_up: Path) -> None:
    Pet.objects.create(name="Rex")

    findings = report()

    assert {level for _, level in findings} == {"ok"}, findings
    assert {"version", "database", "migrations", "counters", "clock", "disk", "files"} <= {one for one, _ in findings}
    assert f"petservice {__version__}," in findings["version", "ok"]
    name = {"sqlite": "SQLite 3.", "postgresql": "PostgreSQL 1"}[connection.vendor]
    assert findings["database", "ok"].startswith(name)


@only_on_postgresql
def test_a_role_that_may_not_delete_the_rows_of_a_table_is_an_error() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE ROLE clerk; GRANT ALL ON ALL TABLES IN SCHEMA public TO clerk")
        cursor.execute("REVOKE DELETE ON pets_pet FROM clerk; SET LOCAL ROLE clerk")
        (text,) = (one.text for one in installation.database() if one.subject == "role")
        transaction.set_rollback(True)

    assert text == "The role of DATABASE_URL may not read and write pets_pet."


@only_on_postgresql
def test_connections_of_other_roles_count_and_processes_of_the_server_do_not() -> None:
    # In a transaction, PostgreSQL shows the same processes again.
    with second_connection(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE ROLE stranger; SET LOCAL ROLE stranger")
        text, _pooler = (one.text for one in installation.database() if one.level == "ok")
        (processes,) = cursor.execute("SELECT count(*) FROM pg_stat_activity").fetchone()
        transaction.set_rollback(True)

    assert 2 <= int(re.findall(r"(\d+) of \d+ connections", text)[0]) < processes


@only_on_postgresql
def test_a_server_that_takes_no_writes_is_an_error_and_a_lock_delays_the_report_by_seconds() -> None:
    url = url_of_the_test_database()
    url += f"{'&' if '?' in url else '?'}options=-cdefault_transaction_read_only%3Don"
    with second_connection() as other:
        other.execute("LOCK TABLE pets_pet IN ACCESS EXCLUSIVE MODE")
        ended = manage("doctor", DATABASE_URL=url)

    assert "The server takes no writes of the service." in ended.stdout
    assert re.search("(?s)canceling statement due to lock timeout.* see what holds a lock", ended.stdout)


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has no file of this account")
def test_a_file_that_cannot_be_written_is_an_error(backed_up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(connection.settings_dict["NAME"])
    for refused in (path, path.parent):
        monkeypatch.setattr(os, "access", lambda one, mode, refused=refused: one != refused)

        assert report()["database", "error"].startswith("This account cannot write the database and its directory.")
        with pytest.raises(OperationalError, match="this account cannot write"):
            backend().begin_service()


def test_a_clock_behind_the_audit_is_a_warning(backed_up: Path) -> None:
    Event.objects.create(at=timezone.now() + timedelta(minutes=5))

    assert "The clock is behind the last event of the audit" in report()["clock", "warning"]


def test_space_and_open_files_that_run_short_are_named(backed_up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")  # as shutil has it
    free = {"disk": 1024**3, "/dev/shm": 1024**2}
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, free.get(str(path), free["disk"])))
    monkeypatch.setattr("resource.getrlimit", lambda limit: (256, 1024))

    findings = report()

    assert "1.0\xa0GB are free for" in findings["disk", "warning"]
    assert "1.0\xa0MB of shared memory are free." in findings["memory", "warning"]
    assert findings["files", "warning"].startswith("A process may open 1,024 files. Raise the limit to 1,200")
    free["disk"] = 100 * 1024**2
    assert "100.0\xa0MB are free" in report()["disk", "error"]


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL watches its own disk")
def test_the_space_for_a_database_outside_the_data_directory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "NAME", tmp_path / "pets.sqlite3")

    assert [one for one in installation.disk() if one.text.endswith(f" are free for {tmp_path}.")]


@pytest.mark.once
def test_a_certificate_that_ends_soon_is_a_warning_and_one_of_another_key_an_error(
    backed_up: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = make_certificate(tmp_path, days=2)
    monkeypatch.setenv("TLS_CERTFILE", str(certificate))
    monkeypatch.setenv("TLS_KEYFILE", str(key))

    assert report()["certificate", "warning"].startswith(f"The certificate in {certificate} is valid for 2 more days.")
    _, another_key = make_certificate(tmp_path / "other")
    key.write_bytes(another_key.read_bytes())
    assert re.search("key values mismatch.* Write both files again", report()["certificate", "error"])


@pytest.mark.redis
def test_a_redis_that_only_answers_and_does_not_count_is_an_error(backed_up: Path, redis_in_use: RedisServer) -> None:
    assert report()["redis", "ok"].startswith("Redis answers in ")
    redis_in_use.client.config_set("maxmemory", 1)

    assert re.search("used memory > 'maxmemory'.* Limits of keys are not enforced", report()["redis", "error"])


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has its own backups")
def test_an_old_backup_and_none_are_a_warning(backed_up: Path, tmp_path: Path) -> None:
    old = time.time() - 27 * 3600  # as for the alert PetserviceBackupIsOld
    os.utime(backed_up, (old, old))

    assert report()["backup", "warning"].startswith("The last backup was made 27 hours ago.")
    call_command("backup_database", str(tmp_path / "copy"), stderr=StringIO())
    assert report()["backup", "ok"] == "The last backup was made 0 hours ago."
    backed_up.unlink()
    assert report()["backup", "warning"].startswith("No backup was made yet.")
    backed_up.symlink_to("/proc/version")  # a file that nobody can touch, like one of another account
    call_command("backup_database", str(tmp_path / "another copy"), stderr=StringIO())
    assert not backed_up.is_symlink()
    assert ("backup", "ok") in report()


@pytest.mark.once
def test_settings_have_their_sources_and_no_secrets(tmp_path: Path) -> None:
    url = f"postgres://ada:s3:cr3t@127.0.0.1:{free_port()}/pets?password=hunter2"
    redis = f"redis://:t0ps3cr3t@127.0.0.1:{free_port()}/0"

    variables = {"SECRET_KEY": "k3y" * 20, "DEBUG": "perhaps", "GUNICORN_CMD_ARGS": "--bind localhost:9"}
    ended = manage("doctor", DATABASE_URL=url, REDIS_URL=redis, **variables)

    assert ended.returncode == 2
    assert not re.search("cr3t|hunter2|k3y", ended.stdout + ended.stderr)
    for line in ("postgres://ada:****@127.0.0.1", "=****  (environment)", "redis://:****@", "localhost:9  (env"):
        assert line in ended.stdout
    workers = max(2, min(os.cpu_count() or 1, 8))
    defaults = {"PETSERVICE_AUDIT_DAYS": 730, "ALLOWED_HOSTS": "localhost,127.0.0.1,[::1]", "WEB_CONCURRENCY": workers}
    defaults |= {"PORT": "127.0.0.1:8000"}
    for name, value in defaults.items():
        assert re.search(rf"^{name} +{re.escape(str(value))}  \(default\)$", ended.stdout, re.MULTILINE)
    found = [line.split()[1] for line in ended.stdout.splitlines() if line.startswith("error")]
    assert found == ["database", "petservice.E001", "redis"], "an error of the database is there once"
    assert "DEBUG='perhaps' cannot be read" in ended.stdout
    in_query = "postgres://ada:s3/cr3t@127.0.0.1/pets?password=hunter@2"
    for url in (in_query, "postgres://ada@shop:cr3t@127.0.0.1/pets", "ada:cr3t@127.0.0.1/pets"):
        mistyped = manage("doctor", DATABASE_URL=url)
        assert not re.search("cr3t|hunter|@2|ENGINE", mistyped.stdout + mistyped.stderr)


@pytest.mark.once
def test_a_database_that_does_not_exist_is_not_created_also_if_it_was_moved(tmp_path: Path) -> None:
    path = tmp_path / "pets.sqlite3"
    variables = {"DATABASE_URL": f"sqlite:///{path}", "PETSERVICE_DATA_DIR": str(tmp_path)}

    ended = manage("doctor", **variables)
    path.with_name(f"{path.name}.moved").touch()
    moved = manage("doctor", **variables)
    # Python's error is like that of a directory into which this account may not look.
    nowhere = manage("doctor", **variables | {"DATABASE_URL": f"sqlite:////{'x' * 256}/pets.sqlite3"})

    assert (ended.returncode, moved.returncode, nowhere.returncode) == (1, 2, 2)
    assert "Make its directory, and let the account of the service own it." in nowhere.stdout
    assert f"There is no database yet: {path}." in ended.stdout
    assert f"the data of {path} has moved to another database. Set DATABASE_URL to that one" in moved.stdout
    assert not path.exists()


def test_administrators_see_the_report_in_the_admin(admin_client: Client, backed_up: Path) -> None:
    url = reverse("installation")
    wrong = InventoryCounter.objects.create(status="sold", count=1)

    page = admin_client.get(url).content.decode()

    assert "<strong>error</strong>" in page
    assert "The inventory differs from the pets: sold by +1." in page
    assert "Run the command reconcile_inventory." in page
    wrong.delete()
    with CaptureQueriesContext(connection) as first:
        assert "The inventory equals a count of all pets at " in admin_client.get(url).content.decode()
    with CaptureQueriesContext(connection) as second:
        assert "The inventory equals a count of all pets at " in admin_client.get(url).content.decode()
    assert [sum(" UNION ALL " in query["sql"] for query in one) for one in (first, second)] == [1, 0]
    assert "<code>PETSERVICE_TIME_ZONE</code>" in page
    assert f'href="{url}"' in admin_client.get(reverse("admin:index")).content.decode()
    other = staff(groups.PETS_INVENTORY_AND_KEYS)
    assert other.get(url).status_code == 403
    assert f'href="{url}"' not in other.get(reverse("admin:index")).content.decode()
