"""`manage.py serve` prepares the database, prints the first account and API key, and becomes the web server."""

import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.db import connection

from petservice.management.commands import serve
from tests.databases import fresh_database_url
from tests.service import Service, free_port, log_in, running_service
from tests.waiting import wait_until

# The migrations that were run twice.
REPEATED = "SELECT app, name FROM django_migrations GROUP BY app, name HAVING count(*) > 1"
ACCOUNTS = "SELECT (SELECT count(*) FROM auth_user), (SELECT count(*) FROM apikeys_apikey)"


def accounts_and_keys(service: Service) -> tuple[int, int]:
    ((accounts, api_keys),) = service.execute(ACCOUNTS)
    return accounts, api_keys


def printed(service: Service, pattern: str) -> list[str]:
    return re.findall(pattern, service.log.read_text(), re.MULTILINE)


@pytest.mark.once
def test_first_start_prints_once_what_is_needed_to_use_the_service(tmp_path: Path) -> None:
    with running_service(tmp_path, DATABASE_URL="") as service, service.client() as client:
        assert len(printed(service, r"^    staff account   admin$")) == 1
        (password,) = printed(service, r"^    password        (\S{20})$")
        assert len(printed(service, r"^    API key         pets_test_\w{49}$")) == 1
        home, api, docs, admin = printed(service, r"^    (?:home page|API|documentation|admin)  +(http\S+)$")
        (line,) = printed(service, r"^    (curl .*)$")
        assert printed(service, r"Listening at: \S+ \((\d+)\)$") == [str(service.process.pid)], "the same process"

        assert [home, api, docs, admin] == [f"{service.url}{path}" for path in ("/", "/v1", "/docs", "/admin/")]
        for address in (home, docs, admin):
            assert client.get(address, follow_redirects=True).status_code == 200
        assert accounts_and_keys(service) == (1, 1)
        log_in(client, "admin", password)
        assert client.get("/admin/").status_code == 200
        options = "--silent --show-error --noproxy '*' --write-out '\\n%{http_code}'"
        called = subprocess.run(["bash", "-c", f"{line} {options}"], capture_output=True, text=True, check=True)
        assert re.fullmatch(r'\{.*"name":"Rex".*\}\n201', called.stdout)


@pytest.mark.long
@pytest.mark.once
def test_gunicorn_s_own_variable_overrides_our_settings_and_bind_overrides_both(
    tmp_path: Path, migrated_url: str
) -> None:
    # Without a limit of its own, gunicorn would allow any length.
    options = f"--workers 3 --reuse-port --limit-request-line 0 --bind 127.0.0.1:{free_port()}"
    variables = {"WEB_CONCURRENCY": "1", "GUNICORN_CMD_ARGS": options}
    with running_service(tmp_path, DATABASE_URL=migrated_url, **variables) as service:
        wait_until(lambda: len(printed(service, r"Booting worker")) == 3)
        assert printed(service, r"password|API key|curl") == [], "there is a key already"
        assert accounts_and_keys(service) == (0, 1)


@pytest.mark.once
def test_sigterm_stops_the_service_with_status_0_and_a_second_start_prints_no_secret(unused: Path) -> None:
    with running_service(unused, DATABASE_URL="") as service:
        workers = service.workers()
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)  # so that none of them can close the database
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "Handling signal: term" in service.log.read_text())
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        assert service.process.wait(timeout=40) == 0
        assert not list(unused.glob("*-wal")), "the database is more than one file"
        assert accounts_and_keys(service) == (1, 1)
        service.log.unlink()
        service.execute("DELETE FROM apikeys_apikey")

    with running_service(unused, DATABASE_URL="") as service:
        assert printed(service, r"password|API key|pets_|curl") == [], "there is an account already"
        assert accounts_and_keys(service) == (1, 0)


@pytest.mark.long
def test_services_that_start_at_the_same_time_all_run_and_migrate_once(tmp_path: Path) -> None:
    """While one migrates, two wait, and then each of them in turn finds nothing to do."""
    with fresh_database_url(tmp_path) as url, ThreadPoolExecutor() as pool, ExitStack() as stack:
        is_embedded = connection.vendor == "sqlite"  # only then, an account and an API key are created
        variables = {"DATABASE_URL": "" if is_embedded else url, "PETSERVICE_DATA_DIR": str(tmp_path / "data")}
        folders = [tmp_path / name for name in ("one", "two", "three")]
        for folder in folders:
            folder.mkdir()
        starts = [running_service(folder, WEB_CONCURRENCY="1", **variables) for folder in folders]
        services = list(pool.map(stack.enter_context, starts))
        for service in services:
            with service.client() as client:
                assert client.get("/ready").status_code == 200
        assert service.execute(REPEATED) == []
        assert sum(len(printed(one, "^    password ")) for one in services) == int(is_embedded)
        assert accounts_and_keys(service) == (int(is_embedded), int(is_embedded))


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite is always migrated")
def test_requests_fail_until_a_postgresql_database_is_migrated(tmp_path: Path) -> None:
    with (
        fresh_database_url(tmp_path) as url,
        running_service(tmp_path, command=("manage.py", "serve"), DATABASE_URL=url) as service,
        service.client("pets_test_" + "x" * 49) as client,
    ):
        command = r"The database lacks \d+ migration\(s\): run the command `migrate`"
        for path in ("/v1/pets", "/v1/store/inventory", "/admin/login/"):
            response = client.get(path)
            assert response.status_code == 500
            assert "The service is being updated. Try again in a few minutes." in response.text
            assert not re.search(command, response.text), "clients and staff cannot migrate"
            assert ("admin/css/base.css" in response.text) == (path == "/admin/login/")
        assert client.get("/ready").status_code == 503
        assert re.search(command, client.get("/ready").text)
        workers = len(printed(service, "Booting worker"))
        assert 1 <= len(printed(service, rf"ERROR petservice.api.readiness .*{command}")) <= workers
        assert client.get("/v1/health").status_code == 200

        service.manage("migrate")

        wait_until(lambda: client.get("/ready").status_code == 200)
        wait_until(lambda: client.get("/v1/pets").status_code == 401)
        assert client.get("/admin/login/").status_code == 200


@pytest.mark.once
@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (("127.0.0.1", 8000), "{}://127.0.0.1:8000"),
        (("0.0.0.0", 9000), "{}://127.0.0.1:9000"),
        (("::", 9000), "{}://127.0.0.1:9000"),
        (("::1", 9000, 0, 0), "{}://[::1]:9000"),
        (("pets.example.com", 9000), "{}://pets.example.com:9000"),
        ("/run/pets", "--unix-socket /run/pets {}://localhost"),
    ],
)
def test_first_start_prints_an_address_of_this_machine(
    address: object, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for certificate, scheme in (("", "http"), ("cert.pem", "https")):
        monkeypatch.setenv("TLS_CERTFILE", certificate)
        assert serve._url_for_curl(address) == shown.format(scheme)
