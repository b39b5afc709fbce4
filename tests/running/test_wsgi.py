"""The application also runs under plain gunicorn, without `serve`.

tests/contract checks the whole contract with it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
import pytest
from django.db import connection

from tests.service import GUNICORN, ROOT, Service, running_service

only_on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no timeouts for statements"
)


def run(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # Coverage is not measured, because that would load greenlet.
    excluded = ("SECRET_KEY", "COVERAGE_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(excluded)} | variables
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.once
def test_invalid_configuration_is_rejected_without_serve() -> None:
    started = run("import petservice.wsgi", PETSERVICE_ENVIRONMENT="live")

    assert started.returncode != 0
    assert "SECRET_KEY is required in live" in started.stderr


@pytest.mark.once
def test_wsgi_application_does_not_load_the_event_loop_server() -> None:
    ended = run("import json, sys, petservice.wsgi; print(json.dumps(list(sys.modules)))")
    loaded = set(json.loads(ended.stdout))

    assert "petservice.wsgi" in loaded
    assert {name for name in loaded if name.split(".")[0] in ("greenlet", "gunicorn")} == set()
    assert {name for name in loaded if name.startswith("petservice.server")} == set()


@pytest.fixture(params=GUNICORN)
def gunicorn(request: pytest.FixtureRequest, plain_gunicorn: Callable[[str], Service]) -> Service:
    """Plain gunicorn with each of its workers, on the database of the shared service."""
    return plain_gunicorn(request.param)


def test_pages_and_their_files_are_served(gunicorn: Service) -> None:
    with gunicorn.client() as client:
        for address in ("/", "/docs", "/admin/login/", "/static/backoffice/admin.css"):
            response = client.get(address)
            assert response.status_code == 200
            assert response.headers["Content-Length"]
            assert "Transfer-Encoding" not in response.headers


@pytest.mark.once
def test_failed_login_through_a_unix_socket_is_counted_by_the_forwarded_address(gunicorn: Service) -> None:
    name, proxied = gunicorn.log.parent.name, {"X-Forwarded-For": "198.51.100.77"}
    transport = httpx.HTTPTransport(uds=f"{gunicorn.log.parent}/socket")
    with httpx.Client(base_url="http://localhost", transport=transport, headers=proxied) as client:
        client.get("/admin/login/")
        form = {"csrfmiddlewaretoken": client.cookies["csrftoken"], "username": name, "password": "a guess"}
        assert client.post("/admin/login/", data=form).status_code == 200

    ((address,),) = gunicorn.execute("SELECT ip_address FROM axes_accessattempt WHERE username = %s", name)
    assert str(address) == "198.51.100.77"


def test_chunked_requests_with_the_same_idempotency_key_create_one_pet(gunicorn: Service, service_key: str) -> None:
    headers = {"Content-Type": "application/json", "Idempotency-Key": gunicorn.url}
    with gunicorn.client(service_key) as client:
        first, second = (
            client.post("/v1/pets", content=iter([b'{"name"', b':"Rex"}']), headers=headers) for _ in range(2)
        )

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()


@only_on_postgresql
@pytest.mark.parametrize("gunicorn", ["sync"], indirect=True)
def test_request_that_waits_for_a_lock_times_out(gunicorn: Service, service_key: str) -> None:
    """The sync worker calls Django in its main thread, and gunicorn would abort a request after 30 seconds."""
    with psycopg.connect(gunicorn.environment["DATABASE_URL"]) as other, gunicorn.client(service_key) as client:
        other.execute("LOCK TABLE pets_pet")
        response = client.get("/v1/pets", timeout=15)
        other.rollback()

        assert (response.status_code, response.json()["error"]["code"]) == (500, "internal_error")
        assert client.get("/v1/pets").status_code == 200


@only_on_postgresql
@pytest.mark.long
@pytest.mark.parametrize("worker", GUNICORN)
def test_statements_of_requests_have_timeouts(tmp_path: Path, service: Service, worker: str) -> None:
    command = [argument.replace("petservice.wsgi", "tests.running.limits") for argument in GUNICORN[worker]]
    url = service.environment["DATABASE_URL"]
    with running_service(tmp_path, command=command, DATABASE_URL=url) as gunicorn, gunicorn.client() as client:
        assert client.get("/limits").json() == ["20s", "5s", "1min"]
