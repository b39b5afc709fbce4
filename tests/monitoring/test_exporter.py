"""/metrics is served only at METRICS_BIND, and the files of the counters are removed."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from tests.monitoring.observed import Observed, folders_of, observed_service
from tests.monitoring.requests import send
from tests.processes import inside
from tests.service import SERVE, Service, fetch, free_port, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once

# Runs a program whose /dev/shm has room for the metrics of one worker.
LITTLE_MEMORY = ("unshare", "--mount", "sh", "-ec", 'mount -t tmpfs -o size=1536k memory /dev/shm; exec "$@"', "sh")


def ports(*pids: int) -> set[int]:
    """Return the ports on which these processes listen."""
    found = (one for pid in pids for one in psutil.Process(pid).net_connections())
    return {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}


def test_public_port_does_not_serve_metrics(observed: Observed) -> None:
    with observed.service.client(observed.key) as client:
        for path in ("/metrics", "/metrics/", "/v1/metrics"):
            response = client.get(path)
            assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found"), path
    assert len(ports(observed.service.process.pid, *observed.service.workers())) == 2


def test_metrics_are_not_served_without_configuration(service: Service) -> None:
    with service.client() as client:
        assert client.get("/metrics").status_code == 404
    pids = (service.process.pid, *service.workers())
    assert len(ports(*pids)) == 1
    for pid in pids:
        assert "petservice-metrics-" not in Path(f"/proc/{pid}/maps").read_text()


def test_only_the_master_has_the_listening_socket_of_metrics(observed: Observed) -> None:
    """A worker that outlives the master must not keep the port from the next one."""
    port = urlsplit(observed.metrics_url).port
    assert port in ports(observed.service.process.pid)
    # A new worker closes the socket soon after its start.
    wait_until(lambda: port not in ports(*observed.service.workers()))


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
def test_stop_removes_the_files_and_the_next_start_those_of_a_killed_service_and_no_others(tmp_path: Path) -> None:
    """A neighbour on the machine creates every name that can be guessed, and a link to files of others."""
    port = free_port()
    with observed_service(tmp_path, metrics_port=port) as observed:
        pids = observed.service.workers()
        observed.service.process.kill()
        observed.service.process.wait()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    (left,) = folders_of(observed.metrics_url)
    assert list(left.glob("*.db"))

    second, others = tmp_path / "second", tmp_path / "others"
    places = [left.with_name(f"petservice-metrics-127.0.0.1-{port}{end}") for end in ("", "-neighbour", "-link")]
    for folder in (second, others, *places[:2]):
        folder.mkdir()
    places[2].symlink_to(others)
    for place in places:
        os.chown(place, 65534, 65534, follow_symlinks=False)
        (place / "counter_1.db").touch()
    try:
        with observed_service(second, metrics_port=port) as observed:
            assert left not in folders_of(observed.metrics_url)
            wait_until(lambda: observed.sample("petservice_workers") == 2)
            send(observed, ["inventory"])
            wait_until(lambda: observed.counted()["GET", "/v1/store/inventory", 200] == 1)
        assert {*folders_of(observed.metrics_url)} == {*places}, "a stopped service leaves no files"
        assert [place for place in places if not (place / "counter_1.db").exists()] == []
    finally:
        places[2].unlink()
        for folder in places[:2]:
            shutil.rmtree(folder)
    with pytest.raises(httpx.ConnectError):
        fetch(observed.metrics_url)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_full_memory_ends_no_worker(tmp_path: Path, migrated_url: str) -> None:
    variables = {"DATABASE_URL": migrated_url, "WEB_CONCURRENCY": "2", "METRICS_BIND": f"127.0.0.1:{free_port()}"}
    with running_service(tmp_path, command=inside(*LITTLE_MEMORY, command=SERVE), **variables) as service:
        wait_until(lambda: "counts nothing for the metrics" in service.log.read_text())
        workers = service.workers()
        memory = Path(f"/proc/{service.process.pid}/root/dev/shm")
        with suppress(OSError), (memory / "full").open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        assert shutil.disk_usage(memory).free == 0
        key = service.create_key()
        for _ in range(3):  # each on a connection of its own, so that both workers get some
            for path in ("/v1/pets", "/v1/store/inventory", "/v1/nowhere", "/ready", "/docs", "/admin/login/"):
                with service.client(key) as client:
                    assert client.get(path).status_code == (404 if path == "/v1/nowhere" else 200)
        assert service.workers() == workers
