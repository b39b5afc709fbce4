"""The service works as a role that owns nothing, which can neither drop nor alter anything."""

import re
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from tests.documents import block
from tests.faults.servers import Server
from tests.service import Service, log_in, manage, running_service

pytestmark = pytest.mark.faults

PASSWORD = "correct horse battery"
# Runs the commands in one process, because each start of Django takes long.
COMMANDS = """
from django.core.management import call_command
from petservice.apikeys.models import APIKey
call_command("createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.com")
call_command("axes_reset_username", "ada")
call_command("create_api_key", "Zoe", "--read-only")
call_command("revoke_api_key", APIKey.objects.get(name="Zoe").prefix)
call_command("import_pets", "{folder}/pets.jsonl")
call_command("export_pets", "{folder}/out.jsonl")
call_command("reconcile_inventory")
call_command("doctor")
"""
FORBIDDEN = [
    "DROP TABLE pets_pet",
    "ALTER TABLE pets_pet ADD COLUMN size integer",
    "ALTER TABLE pets_pet DISABLE TRIGGER store_count_insert",
    "DROP FUNCTION store_count_pets CASCADE",
    "TRUNCATE pets_pet CASCADE",
    "CREATE TABLE size (id integer)",
    "CREATE TEMPORARY TABLE size (id integer)",
    "SET session_replication_role = replica",
]


def test_the_service_works_as_a_role_that_owns_nothing(tmp_path: Path, server: Server) -> None:
    server.sql(block("postgresql.md", "roles"))
    url = f"postgresql://petservice@{server.address}/petservice"
    owner = {"DATABASE_URL": url.replace("petservice@", "petservice_owner@"), "PETSERVICE_DATA_DIR": str(tmp_path)}
    manage("migrate", **owner).check_returncode()

    with running_service(tmp_path, DATABASE_URL=url) as service:  # its --migrate finds nothing to do
        use_commands(service, tmp_path)
        use_api(service)
        use_pages(service)

    refusals = re.findall("(?:permission denied|must be owner).*", (server.folder / "log").read_text())
    assert {*refusals} == {'permission denied to analyze "pets_pet", skipping it'}
    with psycopg.connect(url, autocommit=True) as database:
        for statement in FORBIDDEN:
            with pytest.raises(InsufficientPrivilege):
                database.execute(statement)


def test_the_owner_of_an_existing_database_can_be_replaced(server: Server) -> None:
    server.sql("CREATE ROLE petservice LOGIN; CREATE ROLE petservice_owner LOGIN; CREATE DATABASE petservice")
    url = f"postgresql://petservice@{server.address}/petservice"
    server.sql("ALTER DATABASE petservice OWNER TO petservice")
    server.sql("CREATE TABLE pets_pet (id integer); CREATE TABLE other (id integer)", url=url)
    rest = block("postgresql.md", "roles").partition("\\connect petservice")[2]

    superuser = url.replace("petservice@", "postgres@")
    server.sql(block("postgresql.md", "roles-of-an-existing-database") + rest, url=superuser)

    with psycopg.connect(url) as database:
        database.execute("INSERT INTO pets_pet VALUES (1)")
        with pytest.raises(InsufficientPrivilege):
            database.execute("DROP TABLE pets_pet")


def use_commands(service: Service, folder: Path) -> None:
    (folder / "pets.jsonl").write_text('{"name": "Rex", "status": "sold"}\n')
    variables = service.environment | {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    ended = manage("shell", "-v0", "-c", COMMANDS.format(folder=folder), **variables)
    assert "Traceback" not in ended.stderr, ended.stderr
    assert "The database has all migrations." in ended.stdout, ended.stdout + ended.stderr
    assert "cannot be checked" not in ended.stdout


def use_api(service: Service) -> None:
    with service.client(service.create_key()) as client:
        once = {"Idempotency-Key": "once"}
        first, again = (client.post("/v1/pets", json={"name": "Tom"}, headers=once) for _ in range(2))
        assert first.json() == again.json()
        assert client.post("/v1/pets", json={"name": "Zoë", "tag": "cat"}).status_code == 201
        assert client.get(f"/v1/pets/{first.json()['id']}").status_code == 200
        assert len(client.get("/v1/pets").json()) == 3
        assert client.get("/v1/store/inventory").json() == {"available": 2, "pending": 0, "sold": 1}
        assert client.get("/v1/health").status_code == client.get("/ready").status_code == 200


def use_pages(service: Service) -> None:
    """Fetch each page that a link leads to, and change, delete and restore pets and a key."""
    with service.client() as client:
        log_in(client, "ada", PASSWORD)
        client.follow_redirects = True

        def send(path: str, **fields: str) -> None:
            inputs = re.findall('<input type="hidden" name="([^"]+)"(?: value="([^"]*)")?', client.get(path).text)
            response = client.post(path, data=dict(inputs) | fields)
            assert response.status_code == 200
            assert not re.findall('class="errornote">[^<]+|errorlist.*', response.text)

        send("/admin/pets/pet/add/", name="Polly", tag="", status="available")
        send("/admin/apikeys/apikey/add/", name="Zoë", access="write", lifetime="90")
        (pet,) = service.execute("SELECT id FROM pets_pet WHERE name = 'Polly'")[0]
        send(f"/admin/pets/pet/{pet}/change/", name="Polly", tag="parrot", status="sold", version="1")
        send(f"/admin/pets/pet/{pet}/delete/")
        found, paths = {"/admin/"}, ["/admin/", "/", "/docs"]
        for path in paths:
            page = client.get(path)
            assert page.status_code in (200, 404), f"{path}: {page.status_code}"
            for link in re.findall('href="([^"]+)"', page.text):
                place = urlsplit(urljoin(str(page.url), link.replace("&amp;", "&")))
                # One page for each path, with the first filter or column that a link names.
                if f"{place.scheme}://{place.netloc}" == service.url and place.path not in found:
                    found.add(place.path)
                    paths.append(f"{place.path}?{place.query}")
        assert len(found) > 30
