"""/metrics counts exactly over all workers, is served only at METRICS_BIND, and leaves no files."""

import os
import shutil
import signal
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from petservice import __version__
from petservice.server import limits
from tests.faults.test_full_disk import fill
from tests.monitoring.observed import Observed, folders_of, observed_service
from tests.monitoring.requests import KINDS, send
from tests.processes import inside
from tests.server.connections import Client, get
from tests.service import SERVE, Service, fetch, free_port, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once


def test_every_request_of_every_kind_is_counted_once_over_all_workers(observed: Observed) -> None:
    # A line is written at once, and its request is counted within a second.
    wait_until(lambda: observed.counted() == observed.logged())
    counted, logged = observed.counted(), observed.logged()

    sent = send(observed, KINDS * 6)

    wait_until(lambda: observed.counted() - counted == sent)
    wait_until(lambda: observed.logged() - logged == sent)
    name, route = "petservice_http_request_duration_seconds", "/v1/store/inventory"
    number = sum(of_route for (_, one, _), of_route in observed.counted().items() if one == route)
    assert observed.sample(f"{name}_count", route=route) == number
    assert observed.sample(f"{name}_bucket", route=route, le="+Inf") == number
    assert 0 < observed.sample(f"{name}_sum", route=route) < 60


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.001, 0.00100001, 0.5, 30.0, 31.0]) | st.floats(0, 100)))
def test_durations_that_are_counted_together_are_in_the_buckets_of_each(durations: list[float]) -> None:
    from petservice.monitoring.metrics import _BOUNDS, DurationHistogram

    together = DurationHistogram("seconds", "Seconds.", registry=CollectorRegistry(), buckets=_BOUNDS)
    one_by_one = Histogram("seconds", "Seconds.", registry=CollectorRegistry(), buckets=_BOUNDS)
    for duration in durations:
        one_by_one.observe(duration)

    together.add(durations)

    def buckets(histogram: Histogram) -> dict[str, float]:
        samples = next(iter(histogram.collect())).samples
        return {one.labels["le"]: one.value for one in samples if one.name.endswith("_bucket")}

    assert buckets(together) == buckets(one_by_one)


def test_metrics_show_the_version_the_pools_and_their_use(observed: Observed) -> None:
    wait_until(lambda: observed.sample("petservice_workers") == 2)
    build = [dict(labels) for name, labels in observed.samples() if name == "petservice_build_info"]

    assert [labels["version"] for labels in build] == [__version__]
    for pool, size in limits.THREADS.items():
        wait_until(lambda pool=pool, size=size: observed.sample("petservice_threads", pool=pool) == 2 * size)
        wait_until(lambda pool=pool: observed.sample("petservice_threads_in_use", pool=pool) == 0)
    wait_until(lambda: observed.sample("petservice_http_requests_in_flight") == 0)
    with Client(observed.service), Client(observed.service):
        wait_until(lambda: observed.sample("petservice_connections") >= 2)


def test_a_killed_worker_leaves_its_counts_and_none_of_its_requests_in_flight(one_worker: Observed) -> None:
    observed = one_worker
    # A worker counts once a second. What it had not counted yet would be lost.
    wait_until(lambda: observed.counted() == observed.logged())
    with Client(observed.service) as client:
        client.send(get("/held"))
        wait_until(lambda: observed.sample("petservice_http_requests_in_flight") == 1)
        wait_until(lambda: observed.sample("petservice_threads_in_use", pool="pages") == 1)
        before, (pid,) = observed.counted(), observed.service.workers()

        os.kill(pid, signal.SIGKILL)

        wait_until(lambda: observed.service.workers() not in ([], [pid]))
        wait_until(lambda: observed.sample("petservice_workers") == 1)
        assert observed.sample("petservice_http_requests_in_flight") == 0
        assert observed.sample("petservice_threads_in_use", pool="pages") == 0
        assert observed.counted() == before
        (folder,) = folders_of(observed.metrics_url)
        assert sum(file.stat().st_size for file in folder.glob(f"*_{pid}.db")) < 50_000
        sent = send(observed, KINDS)
        wait_until(lambda: observed.counted() - before == sent)


# The server of the metrics, and its files.

# Runs a program whose /dev/shm has room for the metrics of one worker.
LITTLE_MEMORY = ("unshare", "--mount", "sh", "-ec", 'mount -t tmpfs -o size=1536k memory /dev/shm; exec "$@"', "sh")


def ports(*pids: int) -> set[int]:
    """Return the ports on which these processes listen."""
    found = (one for pid in pids for one in psutil.Process(pid).net_connections())
    return {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}


def test_the_master_alone_serves_metrics_at_an_address_of_their_own_if_there_is_one(
    observed: Observed, service: Service
) -> None:
    master, own = observed.service.process.pid, urlsplit(observed.metrics_url).port
    for one in (observed.service, service):
        with one.client() as client:
            assert client.get("/metrics").status_code == 404
    assert ports(master) == {own, urlsplit(observed.service.url).port}
    # A worker that outlives the master must not keep the port from the next one. It closes the socket after its start.
    wait_until(lambda: own not in ports(*observed.service.workers()))

    pids = (service.process.pid, *service.workers())
    assert len(ports(*pids)) == 1
    assert not any("petservice-metrics-" in Path(f"/proc/{pid}/maps").read_text() for pid in pids)


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
        assert fetch(f"http://{variables['METRICS_BIND']}/metrics").status_code == 200, "no file is incomplete"
        fill(memory)
        assert shutil.disk_usage(memory).free == 0
        key = service.create_key()
        for _ in range(3):  # each on a connection of its own, so that both workers get some
            for path in ("/v1/pets", "/v1/store/inventory", "/v1/nowhere", "/ready", "/docs", "/admin/login/"):
                with service.client(key) as client:
                    assert client.get(path).status_code == (404 if path == "/v1/nowhere" else 200)
        assert service.workers() == workers
