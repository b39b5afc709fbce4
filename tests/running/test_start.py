"""A start tries all that can fail before it prints the first password and key, and says what to change."""

import fcntl
import os
import re
import resource
import shutil
import signal
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.management.base import CommandError

from petservice.server.run import WebServer
from tests.monitoring.observed import folders_of
from tests.processes import READ_ONLY, inside, start
from tests.service import (
    SERVE,
    Service,
    free_port,
    log_in,
    make_certificate,
    refusal,
    responds,
    running_service,
    stopped_service,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.once

PASSWORD = "Tr0ub4dor"


def has_first_account(folder: Path) -> bool:
    """Return whether a start has created the first account in a folder, and if so has printed its password."""
    exists = (folder / "petservice.sqlite3").exists()
    return exists and stopped_service(folder).execute("SELECT count(*) FROM auth_user") != [(0,)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_machine_without_a_place_for_temporary_files_is_refused(tmp_path: Path) -> None:
    output = refusal(tmp_path, serve=inside(*READ_ONLY, str(tmp_path), command=SERVE))

    assert "There is no directory for temporary files" in output
    assert "set TMPDIR to one that can be written" in output
    assert not has_first_account(tmp_path)


def test_upload_gets_a_page_if_there_is_no_more_place_for_its_file(tmp_path: Path, migrated_url: str) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with running_service(tmp_path, DATABASE_URL=migrated_url, TMPDIR=str(temporary)) as service:
        service.create_staff("ada", "correct horse")
        shutil.rmtree(temporary)
        with service.client() as client:
            log_in(client, "ada", "correct horse")
            form = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
            response = client.post("/admin/pets/pet/import/", data=form, files={"file": b"x" * 2**19})

    assert response.status_code == 500
    assert response.headers["Content-Type"].startswith("text/html")
    assert "default-src" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Request-ID"] in response.text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Python leaves the socket open
def test_address_that_a_service_cannot_have_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resource, "setrlimit", lambda *arguments: None)  # of this process
    path = str(tmp_path / "socket")
    with socket.create_server(("127.0.0.1", 0)) as by_port, socket.socket(socket.AF_UNIX) as by_path:
        port = by_port.getsockname()[1]
        by_path.bind(path)
        by_path.listen()
        for address, reason in (
            ("192.0.2.1:9000", "at 192.0.2.1:9000 (Cannot assign requested address)"),
            ("127.0.0.1:http", "at this address ('http' is not a valid port number.)"),
            (f"127.0.0.1:{port}", f"at 127.0.0.1:{port} (Address already in use)"),
            ("127.0.0.1:90000", "at 127.0.0.1:90000 (bind(): port must be 0-65535.)"),
            (f"[::]:{port}", f"at :::{port} (Address already in use)"),  # for one of the two versions of IP
            (f"unix:{path}", f"at unix:{path} (Address already in use)"),
        ):
            with pytest.raises(CommandError, match=re.escape(f"cannot listen {reason}: try --bind")):
                WebServer(address)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)  # the address still belongs to the program that had it


def test_service_shares_an_address_by_gunicorn_s_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "setrlimit", lambda *arguments: None)  # of this process
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        monkeypatch.setenv("GUNICORN_CMD_ARGS", "--reuse-port")

        assert WebServer(address).cfg.address == [other.getsockname()]


def test_unusable_pair_of_tls_files_is_refused_in_one_sentence(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    _, another_key = make_certificate(tmp_path / "other")
    key.write_bytes(another_key.read_bytes())

    output = refusal(tmp_path, TLS_CERTFILE=str(certificate), TLS_KEYFILE=str(key))

    assert len(output.splitlines()) == 1, output
    assert f"TLS_CERTFILE={certificate} and TLS_KEYFILE={key} are no usable pair" in output
    assert not (tmp_path / "petservice.sqlite3").exists()


def test_first_start_prints_no_secret_if_the_metrics_cannot_be_served(unused: Path) -> None:
    metrics = f"127.0.0.1:{free_port()}"
    output = refusal(unused, bind=metrics, METRICS_BIND=metrics)

    assert f"Metrics cannot be served at METRICS_BIND={metrics} (Address already in use)" in output
    assert "pets_test_" not in output
    assert not has_first_account(unused), "the next start prints its password"
    assert folders_of(f"http://{metrics}/metrics") == []


def test_no_account_and_no_key_is_made_whose_secret_cannot_be_printed(unused: Path) -> None:
    environment = os.environ | {"PETSERVICE_DATA_DIR": str(unused), "DATABASE_URL": ""}
    serve, create = [*SERVE, "--bind", f"127.0.0.1:{free_port()}"], [SERVE[0], "create_api_key", "Acme"]
    for command, secret in ((serve, "first password and key"), (create, "key")):
        assert start(command, environment, Path("/dev/full"), unused / "errors").wait(timeout=60) != 0
        told = f"CommandError: The {secret} cannot be printed: [Errno 28] No space left on device"
        assert told in (unused / "errors").read_text()

    assert not has_first_account(unused), "the next start prints its password"
    assert stopped_service(unused).execute("SELECT count(*) FROM apikeys_apikey") == [(0,)]


def test_signals_during_a_start_do_not_end_it_but_an_interrupt_does(tmp_path: Path, migrated_url: str) -> None:
    """The start waits for the migration of another one, which holds the lock of the database's migrations."""
    database = Path(migrated_url.removeprefix("sqlite:///"))
    environment = os.environ | {"PETSERVICE_DATA_DIR": str(tmp_path), "DATABASE_URL": migrated_url}
    log = tmp_path / "log"
    with Path(f"{database}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start([*SERVE, "--bind", f"127.0.0.1:{free_port()}"], environment, log, log)
        try:
            waits = re.compile(rf"-> FLOCK .* {process.pid} ")
            wait_until(lambda: process.poll() is not None or waits.search(Path("/proc/locks").read_text()))
            for name in ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGTTIN", "SIGTTOU"):
                process.send_signal(signal.Signals[name])
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=40) == 130
            assert log.read_text() == ""
        finally:
            process.kill()


def fill(service: Service, connections: int, clients: ExitStack) -> None:
    """Connect to a service, so often that it may have no file left."""
    address = urlsplit(service.url)
    for _ in range(connections):
        clients.enter_context(socket.create_connection((address.hostname, address.port)))


@pytest.mark.long
def test_clients_leave_some_of_few_open_files_to_the_database(tmp_path: Path, migrated_url: str) -> None:
    command = inside("prlimit", "--nofile=128", command=SERVE)
    variables = {"DATABASE_URL": migrated_url, "WEB_CONCURRENCY": "1", "METRICS_BIND": f"127.0.0.1:{free_port()}"}
    with running_service(tmp_path, command=command, **variables) as service, ExitStack() as clients:
        client = clients.enter_context(service.client(service.create_key()))
        assert client.get("/v1/health").status_code == 200
        fill(service, 256, clients)
        files = Path(f"/proc/{service.workers()[0]}/fd")
        wait_until(lambda: len(list(files.iterdir())) > 64)  # half of them are for connections

        assert [client.get(path).status_code for path in ("/v1/pets", "/ready", "/admin/login/")] == [200] * 3


@pytest.mark.long
def test_a_low_limit_of_open_files_is_raised_and_sigusr2_starts_no_second_master(
    tmp_path: Path, migrated_url: str
) -> None:
    command = inside("prlimit", "--nofile=128:", command=SERVE)  # which the service may raise
    variables = {"DATABASE_URL": migrated_url, "WEB_CONCURRENCY": "1"}
    with running_service(tmp_path, command=command, **variables) as service, ExitStack() as clients:
        fill(service, 256, clients)
        assert responds(service.url)

        (worker,) = service.workers()
        service.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: "SIGUSR2 is ignored" in service.log.read_text() or service.workers() != [worker])
        assert service.workers() == [worker]


def test_live_without_settings_is_rejected_and_each_is_named(tmp_path: Path) -> None:
    output = refusal(tmp_path, PETSERVICE_ENVIRONMENT="live", DEBUG="1", PETSERVICE_REQUIRE_HTTPS="0")

    assert re.findall(r"\(petservice\.E001\) (\w+) is ", output) == [
        *("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DEBUG", "PETSERVICE_REQUIRE_HTTPS", "SECRET_KEY")
    ]
    assert list(tmp_path.iterdir()) == [], "a rejected start creates nothing"


DATABASE = "The database cannot be used, check DATABASE_URL"
NO_DATA_DIRECTORY = ["The data directory cannot be used", "set PETSERVICE_DATA_DIR to one that it can write"]


@pytest.mark.parametrize(
    ("variables", "sentences"),
    [
        (
            {"PETSERVICE_ENVIRONMENT": "staging", "METRICS_BIND": "9100", "WEB_CONCURRENCY": "abc"}
            | {"DATABASE_URL": f"mysql://ada:{PASSWORD}@localhost/pets"},
            [
                "PETSERVICE_ENVIRONMENT='staging' cannot be read (Must be one of: test, live.",
                "METRICS_BIND='9100' cannot be read (it is no address with a port",
                "WEB_CONCURRENCY='abc' cannot be read (Not a valid integer.",
                "DATABASE_URL begins with 'mysql://', but only SQLite",
            ],
        ),
        ({"DATABASE_URL": "sqlite:////no/such/folder/pets.sqlite3"}, [DATABASE]),
        ({"DATABASE_URL": f"postgres://ada:{PASSWORD}@127.0.0.1:1/pets"}, [DATABASE]),
        ({"TMPDIR": "/no/such/folder"}, ["set TMPDIR to one that can be written"]),
        (
            {"PETSERVICE_DATA_DIR": f"{__file__}/data"},
            NO_DATA_DIRECTORY,
        ),
        (
            {"PETSERVICE_DATA_DIR": "/no/such/folder", "PETSERVICE_ENVIRONMENT": "live", "SECRET_KEY": 50 * PASSWORD}
            | {"ALLOWED_HOSTS": "pets.example.com", "CSRF_TRUSTED_ORIGINS": "https://pets.example.com"},
            NO_DATA_DIRECTORY,
        ),
    ],
    ids=["all invalid variables", "no folder", "no server", "no TMPDIR", "no data directory", "the same in live"],
)
def test_unusable_variables_are_reported_alone_and_without_a_password(
    tmp_path: Path, variables: dict[str, str], sentences: list[str]
) -> None:
    output = refusal(tmp_path, **variables)

    assert [sentence for sentence in sentences if sentence not in output] == []
    assert [text for text in (PASSWORD, "fields.E120") if text in output] == []
