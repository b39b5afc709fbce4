"""The systemd unit in deployment.md starts and stops the service, and its environment file passes all checks."""

import configparser
import os
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from petservice.db.url import database_settings
from tests.databases import migrated_database_url
from tests.documents import block
from tests.processes import READ_ONLY
from tests.programs import running_program
from tests.service import ROOT, TLS, Service, free_port, manage
from tests.waiting import wait_until

pytestmark = pytest.mark.once

UNIT = block("deployment.md", "systemd-unit")
PYTHON = "/opt/petservice/.venv/bin/python"
WITHOUT_CAPABILITIES = ("setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all")
# prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN), which Linux has since 6.3.
WITHOUT_EXECUTABLE_MEMORY = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
FILE = block("deployment.md", "systemd-environment")
ENVIRONMENT = dict(line.split("=", 1) for line in FILE.splitlines())


# What the unit of the pages has in place of lines of the unit.
PAGES = block("deployment.md", "systemd-pages")


def sections(text: str = UNIT) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment]  # as configparser documents it
    parser.read_string(text)
    return parser


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("name", ["petservice", "petservice-pages"])
def test_systemd_accepts_the_unit(tmp_path: Path, name: str) -> None:
    unit = tmp_path / f"{name}.service"
    unit.write_text(UNIT.replace(PYTHON, sys.executable))
    if name == "petservice-pages":
        (tmp_path / "petservice-pages.service.d").mkdir()
        (tmp_path / "petservice-pages.service.d" / "pages.conf").write_text(PAGES.replace(PYTHON, sys.executable))
    # The folder comes before those of the system.
    environment = os.environ | {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"}

    ended = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, env=environment
    )

    messages = [line for line in ended.stderr.splitlines() if "petservice" in line or str(tmp_path) in line]
    assert (ended.returncode, messages) == (0, [])
    # The exposure of the service, from 0 to 100. The network alone is about 10.
    confined = ["systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit]
    ended = subprocess.run(confined, capture_output=True, text=True, timeout=60, env=environment)
    assert ended.returncode == 0, ended.stdout


def test_unit_of_the_pages_runs_the_same_program_at_addresses_of_its_own() -> None:
    environment, *command = shlex.split(sections(PAGES)["Service"]["ExecStart"].removeprefix("/usr/bin/env "))

    assert command == shlex.split(sections()["Service"]["ExecStart"].replace(":8000", ":8001"))
    name, address = environment.split("=")
    assert address.rpartition(":")[2] != ENVIRONMENT[name].rpartition(":")[2]


def test_restarts_end_if_the_service_cannot_start() -> None:
    """systemd's own limit of five starts in ten seconds is never reached by starts that take two seconds or more."""
    unit, service = sections()["Unit"], sections()["Service"]
    slowest = 20  # seconds of a start that fails
    attempts = int(unit["StartLimitBurst"]) * (int(service["RestartSec"]) + slowest)
    assert attempts < int(unit["StartLimitIntervalSec"])


@pytest.mark.long
def test_environment_file_of_the_unit_passes_the_deployment_checks(tmp_path: Path) -> None:
    variables = ENVIRONMENT | {"PETSERVICE_DATA_DIR": str(tmp_path)}

    checked = manage("check", "--deploy", "--fail-level", "WARNING", **variables)

    assert checked.returncode == 0, checked.stderr
    assert "no issues" in checked.stdout
    options = database_settings(ENVIRONMENT["DATABASE_URL"], data_dir=tmp_path)
    assert (options["HOST"], options["PORT"]) == ("10.0.0.21,10.0.0.22", "5432,5432")
    assert options["OPTIONS"]["target_session_attrs"] == "read-write"


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_service_of_the_unit_notifies_systemd_and_reloads_and_stops(tmp_path: Path) -> None:
    service = sections()["Service"]
    port = free_port()
    command = service["ExecStart"].replace(PYTHON, sys.executable).replace("0.0.0.0:8000", f"127.0.0.1:{port}")
    # As the unit does it, as far as that needs no systemd.
    confinement = [*READ_ONLY, str(tmp_path), *WITHOUT_CAPABILITIES]
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
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)

        def is_ready() -> bool:
            with suppress(BlockingIOError):
                return b"READY=1" in manager.recv(1024).splitlines()
            return False

        # The unit has a /tmp of its own.
        variables |= {"PATH": os.environ["PATH"], "NOTIFY_SOCKET": str(tmp_path / "notify"), "TMPDIR": str(tmp_path)}
        program = [*confinement, sys.executable, "-c", WITHOUT_EXECUTABLE_MEMORY, *shlex.split(command)]
        with running_program(program, tmp_path / "log", is_ready, cwd=ROOT, env=variables) as process:
            running = Service("", process, tmp_path / "log", variables)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=TLS, timeout=30) as client:
                assert client.get("/ready").status_code == 200
                assert client.get("/openapi.json", headers={"Host": "pets.example.com"}).status_code == 403
                headers = {"Host": "pets.example.com", "X-Forwarded-Proto": "https"}
                assert client.get("/openapi.json", headers=headers).status_code == 200
            before = set(running.workers())
            reload = service["ExecReload"].replace("$MAINPID", str(process.pid))
            subprocess.run(shlex.split(reload), check=True)
            wait_until(lambda: running.workers() and not before & set(running.workers()))
            process.terminate()
            assert process.wait(timeout=int(service["TimeoutStopSec"])) == 0, running.log.read_text()
