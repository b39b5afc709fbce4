"""/metrics for Prometheus: exact over all workers, whatever becomes of them, and reachable where it is meant to be."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from petservice.db.backend import backend
from petservice.server import asgi
from tests.monitoring.observed import Observed, Seen, observed_service
from tests.monitoring.requests import KINDS, requests
from tests.server.connections import Client, get
from tests.server.services import planted_service
from tests.service import ROOT, TLS, Service, free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    with observed_service(tmp_path_factory.mktemp("metrics")) as observed:
        yield observed


def processes(service: Service) -> list[int]:
    """The process ids of the service: the master's, and those of the workers that run."""
    pid = service.process.pid
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def workers(observed: Observed) -> list[int]:
    """The process ids of the workers that run."""
    return processes(observed.service)[1:]


def send(observed: Observed, kinds: list[str]) -> Counter[Seen]:
    """Send each on a connection of its own, four at a time, which spreads them over the workers; what is to be seen."""

    def send_one(kind: str) -> Seen:
        parts, seen = requests(observed.key)[kind]
        with Client(observed.service) as client:
            client.send(parts)
            client.answer(to_head=parts.startswith(b"HEAD"))
        return seen

    with ThreadPoolExecutor(4) as pool:
        return Counter(pool.map(send_one, kinds))


def test_every_request_of_every_kind_is_counted_once_over_all_workers(observed: Observed) -> None:
    # A line is written a little later than its request is counted.
    wait_until(lambda: observed.counted() == observed.logged())
    counted, logged = observed.counted(), observed.logged()

    sent = send(observed, KINDS * 6)

    wait_until(lambda: observed.counted() - counted == sent)
    wait_until(lambda: observed.logged() - logged == sent)


def test_durations_are_counted_by_route(observed: Observed) -> None:
    name, route = "petservice_http_request_duration_seconds", "/v1/store/inventory"
    before = observed.sample(f"{name}_count", route=route), observed.sample(f"{name}_sum", route=route)

    send(observed, ["inventory"] * 5)

    wait_until(lambda: observed.sample(f"{name}_count", route=route) == before[0] + 5)
    assert observed.sample(f"{name}_bucket", route=route, le="+Inf") == before[0] + 5
    assert 0 < observed.sample(f"{name}_sum", route=route) - before[1] < 60


def test_clients_cannot_make_series_up(observed: Observed) -> None:
    send(observed, KINDS)
    wait_until(lambda: observed.logged()["other", "invalid_request", 400])

    def series() -> set[object]:
        return set(observed.samples())

    before = series()
    for number in range(20):
        for method, path in ((f"BREW{number}", "/v1/pets"), ("GET", f"/{number}"), ("GET", f"/admin/{number}/x")):
            with Client(observed.service) as client:
                client.send(get(path, method=method))
                client.answer()
        with Client(observed.service) as client:
            client.send(get("/v1/pets", f"X-API-Key: {observed.key}".encode(), method=f"BREW{number}"))
            client.answer()

    assert len(series() - before) <= 20 + 3  # one route that was not there yet, with its buckets


def test_metrics_show_what_runs_and_how_much_of_it(observed: Observed) -> None:
    wait_until(lambda: observed.sample("petservice_workers") == 2)
    build = [dict(labels) for name, labels in observed.samples() if name == "petservice_build_info"]

    assert [labels["version"] for labels in build] == [version("petservice")]
    of_a_worker = {
        ("petservice_api_concurrency", "reads"): asgi.CONCURRENT_READS,
        ("petservice_api_concurrency", "writes"): backend().concurrent_writes,
        ("petservice_threads", "pages"): asgi.PAGE_THREADS,
        ("petservice_threads", "writes"): asgi.WRITE_THREADS,
        ("petservice_threads", "readiness"): 1,
    }
    for (name, pool), size in of_a_worker.items():
        series = frozenset({("pool", pool)})
        wait_until(lambda name=name, series=series, size=size: observed.samples().get((name, series)) == 2 * size)
        wait_until(lambda name=name, series=series: observed.samples()[f"{name}_in_use", series] == 0)
    wait_until(lambda: observed.sample("petservice_http_requests_in_flight") == 0)
    with Client(observed.service), Client(observed.service):
        wait_until(lambda: observed.sample("petservice_connections") >= 2)


def test_worker_that_is_killed_takes_no_count_with_it(observed: Observed) -> None:
    sent = send(observed, KINDS * 2)
    wait_until(lambda: not sent - observed.counted())
    wait_until(lambda: observed.sample("petservice_workers") == 2)
    before, were = observed.counted(), workers(observed)

    for pid in were:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(workers(observed)) == 2 and not set(were) & set(workers(observed)))
    wait_until(lambda: observed.sample("petservice_workers") == 2)

    assert observed.counted() == before
    sent = send(observed, KINDS)
    wait_until(lambda: observed.counted() - before == sent)


def test_file_of_a_worker_that_was_killed_as_it_made_it_does_no_harm(observed: Observed) -> None:
    (folder_of(observed.metrics_url) / "counter_1.db").touch()

    assert observed.sample("petservice_workers") == 2


def test_worker_that_is_killed_takes_what_went_on_in_it_with_it(tmp_path: Path) -> None:
    port = free_port()
    with planted_service(tmp_path, METRICS_BIND=f"127.0.0.1:{port}") as service, Client(service) as client:
        observed = Observed(service, "", f"http://127.0.0.1:{port}/metrics")
        client.send(get("/held"))
        wait_until(lambda: observed.sample("petservice_http_requests_in_flight") == 1)
        wait_until(lambda: observed.sample("petservice_threads_in_use", pool="pages") == 1)

        (pid,) = workers(observed)
        os.kill(pid, signal.SIGKILL)

        wait_until(lambda: workers(observed) not in ([], [pid]))
        wait_until(lambda: observed.sample("petservice_workers") == 1)
        assert observed.sample("petservice_http_requests_in_flight") == 0
        assert observed.sample("petservice_threads_in_use", pool="pages") == 0


def test_workers_that_are_renewed_while_scraped_all_come_up(observed: Observed) -> None:
    """None begins as a copy of a process in which a scrape holds what it needs."""
    for _ in range(3):
        were = workers(observed)
        observed.service.process.send_signal(signal.SIGHUP)
        wait_until(lambda were=were: observed.samples() and not set(were) & set(workers(observed)))
    wait_until(lambda: observed.sample("petservice_workers") == 2)

    before = observed.counted()
    sent = send(observed, KINDS)
    wait_until(lambda: observed.counted() - before == sent)


# Where it is.


def sockets_of(pid: int) -> set[str]:
    """The inodes of the sockets that a process has open."""
    links = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            links.append(str(descriptor.readlink()))
    return {match[1] for link in links if (match := re.fullmatch(r"socket:\[(\d+)\]", link))}


def listening(service: Service) -> int:
    """On how many addresses the service and its workers listen."""
    sockets = {inode for pid in processes(service) for inode in sockets_of(pid)}
    tables = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return len({row[9] for row in tables if row[3] == "0A"} & sockets)


def test_public_listener_does_not_have_it(observed: Observed) -> None:
    with observed.service.client(observed.key) as client:
        for path in ("/metrics", "/metrics/", "/v1/metrics"):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found"), path
    assert listening(observed.service) == 2


def test_it_is_nowhere_unless_it_is_configured(service: Service) -> None:
    with service.client() as client:
        assert client.get("/metrics").status_code == 404
    assert listening(service) == 1
    for pid in processes(service):
        assert "petservice-metrics-" not in Path(f"/proc/{pid}/maps").read_text()


def test_only_the_master_has_its_listener(observed: Observed) -> None:
    """A worker that outlives the master must not keep the port from the next one."""
    _, port = urlsplit(observed.metrics_url).netloc.split(":")
    row = f":{int(port):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    (inode,) = [fields[9] for fields in rows if fields[1].endswith(row) and fields[3] == "0A"]
    assert inode in sockets_of(observed.service.process.pid)
    for pid in workers(observed):
        assert inode not in sockets_of(pid)


def start(folder: Path, metrics_port: int, *, port: int | None = None) -> subprocess.CompletedProcess[str]:
    """A start that is refused."""
    variables = {"PETSERVICE_DATA_DIR": str(folder), "DATABASE_URL": "", "METRICS_BIND": f"127.0.0.1:{metrics_port}"}
    return subprocess.run(
        [sys.executable, "manage.py", "serve", "--bind", f"127.0.0.1:{port or free_port()}"],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("taken_by", ["another program", "the service itself"])
def test_port_that_is_taken_ends_the_start_with_a_sentence(tmp_path: Path, taken_by: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = free_port()
        taken = other.getsockname()[1] if taken_by == "another program" else port
        ended = start(tmp_path, taken, port=port)

    assert ended.returncode == 1
    assert f"Metrics cannot be served at METRICS_BIND=127.0.0.1:{taken} (Address already in use)" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not folder_of(f"http://127.0.0.1:{taken}/metrics").exists()


def folder_of(metrics_url: str) -> Path:
    """Where the workers of a service with metrics at this address count."""
    host, port = urlsplit(metrics_url).netloc.split(":")
    return Path(f"/dev/shm/petservice-metrics-{host}-{port}")


def test_files_go_when_it_stops_and_those_of_a_killed_service_with_the_next_start_at_the_same_address(
    tmp_path: Path,
) -> None:
    port = free_port()
    with observed_service(tmp_path, metrics_port=port) as observed:
        send(observed, ["inventory"] * 5)
        wait_until(lambda: observed.counted()["GET", "/v1/store/inventory", 200] == 5)
        pids = workers(observed)
        observed.service.process.kill()
        observed.service.process.wait()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    folder = folder_of(observed.metrics_url)
    left = set(folder.glob("*.db"))
    assert left

    second = tmp_path / "second"
    second.mkdir()
    with observed_service(second, metrics_port=port) as observed:
        assert not left & set(folder.iterdir())
        send(observed, ["inventory"])
        wait_until(lambda: observed.counted()["GET", "/v1/store/inventory", 200] == 1)
    assert not folder.exists(), "stopped, it leaves nothing"
    with pytest.raises(httpx.ConnectError):
        httpx.get(observed.metrics_url, trust_env=False, verify=TLS)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_folder_that_belongs_to_another_user_ends_the_start_with_a_sentence(tmp_path: Path, kind: str) -> None:
    """Nor is a file deleted where another user's link leads."""
    metrics_port = free_port()
    folder = folder_of(f"http://127.0.0.1:{metrics_port}/metrics")
    file = tmp_path / "counter_1.db"
    file.touch()
    if kind == "folder":
        folder.mkdir()
    else:
        folder.symlink_to(tmp_path)
    os.chown(folder, 65534, 65534, follow_symlinks=False)
    try:
        ended = start(tmp_path, metrics_port)
    finally:
        folder.unlink() if kind == "link" else folder.rmdir()

    assert ended.returncode == 1
    assert f"METRICS_BIND=127.0.0.1:{metrics_port} ({folder} belongs to another user)" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert file.exists()
