"""Two processes of the service behind HAProxy, one for the API and one for pages, with the shipped configurations."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.documents import block
from tests.faults.conftest import Outcome
from tests.faults.haproxy import HAProxy, running_haproxy
from tests.faults.load import Load, all_pets, lost, running_load
from tests.service import ROOT, free_port, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

CONNECTIONS = 50
PAGES = ["/", "/docs", "/openapi.json", "/ready", "/static/guides/docs.css", "/admin/login/", "/nowhere", "/v1"]
OF_API = ["/v1/health", "/v1/pets", "/v1/store/inventory", "/v1/nowhere"]


@contextmanager
def running_flood(entry: HAProxy) -> Iterator[list[int]]:
    """Let clients request the login page without a pause, each on a connection of its own, until the end of the block.

    Yield a list to which the status of each response is added.
    """
    statuses: list[int] = []
    is_over = threading.Event()

    def repeat() -> None:
        with closing(http.client.HTTPSConnection(urlsplit(entry.url).netloc, context=entry.context)) as connection:
            while not is_over.is_set():
                connection.request("GET", "/admin/login/")
                response = connection.getresponse()
                response.read()
                statuses.append(response.status)

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        clients = [pool.submit(repeat) for _ in range(CONNECTIONS)]
        try:
            wait_until(lambda: len(statuses) >= CONNECTIONS)
            yield statuses
        finally:
            is_over.set()
    for client in clients:
        client.result()


def requests(log: Path) -> list[dict[str, Any]]:
    """Return the access records in a log."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return [line for line in lines if line["logger"] == "petservice.requests"]


def configuration_of_containers(api: str, pages: str) -> tuple[str, dict[str, str]]:
    text = (ROOT / "petservice" / "deploy" / "haproxy.cfg").read_text()
    return text, {"8 api:8000": f"1 {api}", "8 pages:8000": f"1 {pages}"}


def configuration_of_machines(api: str, pages: str) -> tuple[str, dict[str, str]]:
    replaced = {"    stats socket /run/haproxy/admin.sock mode 660 level admin\n": ""}
    for machine in ("10.0.0.11", "10.0.0.12"):
        replaced |= {f"{machine}:8000": api, f"{machine}:8001": pages}
    return block("deployment.md", "haproxy"), replaced


@pytest.mark.parametrize(
    ("database", "configuration"),
    [("sqlite_url", configuration_of_containers), ("postgresql_url", configuration_of_machines)],
    ids=["containers, SQLite", "machines, PostgreSQL"],
)
def test_flood_of_pages_and_their_stop_do_not_reach_the_api(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    database: str,
    configuration: Callable[[str, str], tuple[str, dict[str, str]]],
    report: Callable[[Outcome], None],
) -> None:
    # On one machine, both have the same folder of data. Each has its own port, and its own address of metrics.
    variables = {"DATABASE_URL": request.getfixturevalue(database), "PETSERVICE_DATA_DIR": str(tmp_path)}
    variables |= {"PETSERVICE_LOG_FORMAT": "json"}
    with ExitStack() as of_api, ExitStack() as of_pages:
        services = []
        for stack, name in ((of_api, "api"), (of_pages, "pages")):
            (tmp_path / name).mkdir()
            variables |= {"METRICS_BIND": f"127.0.0.1:{free_port()}"}
            services.append(stack.enter_context(running_service(tmp_path / name, **variables)))
        api, pages = services
        key = api.create_key()
        addresses = [service.url.removeprefix("http://") for service in services]
        entry = of_api.enter_context(running_haproxy(tmp_path, *configuration(*addresses)))
        load = Load(entry.url, key, reads=True, context=entry.context)
        with running_load(load, 8):
            with running_flood(entry) as flood:
                load.wait_for(100)
            with entry.client(key) as client:
                sent = {client.get(path).headers["X-Request-ID"]: path for path in [*PAGES, *OF_API]}
            of_pages.close()
            load.wait_for(50)
            with entry.client(key) as client:
                assert client.get("/admin/login/").status_code == 503
        with entry.client(key) as client:
            gone = lost(load, all_pets(client))
    assert set(load.saw) == {"POST 201", "GET 200"}
    assert set(flood) == {200}
    by_api, by_pages = requests(api.log), requests(pages.log)
    assert sum(line["method"] == "POST" for line in by_api) == load.saw["POST 201"]
    assert sum(line["route"] == "/admin/login/" for line in by_pages) == len(flood) + PAGES.count("/admin/login/")
    assert [sent[line["request_id"]] for line in by_api if line["request_id"] in sent] == OF_API
    assert [sent[line["request_id"]] for line in by_pages if line["request_id"] in sent] == PAGES
    saw = f"{load.summary()}; {len(flood)} pages"
    report(Outcome("flood of pages, then their processes stop", 1, saw, len(gone) + len(load.missing)))
