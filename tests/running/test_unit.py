"""The systemd unit in deployment.md starts and stops the service, and its environment file passes all checks."""

import configparser
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from petservice.db.url import database_settings
from tests.databases import migrated_database_url
from tests.documents import block
from tests.service import ROOT, TLS, free_port

pytestmark = pytest.mark.once

UNIT = block("deployment.md", "systemd-unit")
FILE = block("deployment.md", "systemd-environment")
ENVIRONMENT = dict(line.split("=", 1) for line in FILE.splitlines())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "petservice.service"
    unit.write_text(UNIT.replace("/opt/petservice/.venv/bin/python", sys.executable))

    ended = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)

    messages = [line for line in ended.stderr.splitlines() if "petservice" in line]
    assert (ended.returncode, messages) == (0, [])


@pytest.mark.long
def test_environment_file_of_the_unit_passes_the_deployment_checks(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], **ENVIRONMENT, "PETSERVICE_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]

    checked = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)

    assert checked.returncode == 0, checked.stderr
    assert "no issues" in checked.stdout
    options = database_settings(ENVIRONMENT["DATABASE_URL"], data_dir=tmp_path)
    assert (options["HOST"], options["PORT"]) == ("10.0.0.21,10.0.0.22", "5432,5432")
    assert options["OPTIONS"]["target_session_attrs"] == "read-write"


@pytest.mark.long
def test_service_of_the_unit_notifies_systemd_and_stops_on_sigterm(tmp_path: Path) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment]  # as configparser documents it
    parser.read_string(UNIT)
    service = parser["Service"]
    port = free_port()
    command = service["ExecStart"].replace("/opt/petservice/.venv/bin/python", sys.executable)
    command = command.replace("0.0.0.0:8000", f"127.0.0.1:{port}")
    variables = ENVIRONMENT.copy()
    with migrated_database_url(tmp_path) as url, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        variables |= {
            "DATABASE_URL": url,
            "PETSERVICE_DATA_DIR": str(tmp_path),
            "METRICS_BIND": f"127.0.0.1:{free_port()}",
            "PETSERVICE_DRAIN_SECONDS": "0.1",
            "FORWARDED_ALLOW_IPS": "127.0.0.1",
        }
        assert variables.keys() == ENVIRONMENT.keys()
        address = tmp_path / "notify"
        manager.bind(str(address))
        manager.settimeout(60)
        environment = {"PATH": os.environ["PATH"], **variables}
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen(
                shlex.split(command),
                cwd=ROOT,
                env=environment | {"NOTIFY_SOCKET": str(address)},
                stdout=log,
                stderr=log,
            )
        try:
            assert re.search(rb"^READY=1$", manager.recv(1024), re.M)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=TLS, timeout=30) as client:
                assert client.get("/ready").status_code == 200
                assert client.get("/openapi.json", headers={"Host": "pets.example.com"}).status_code == 403
                headers = {"Host": "pets.example.com", "X-Forwarded-Proto": "https"}
                assert client.get("/openapi.json", headers=headers).status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=int(service["TimeoutStopSec"])) == 0
