"""Two processes of the service behind HAProxy, one for the API and one for pages, with the shipped configurations."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.documents import block
from tests.faults.haproxy import running_haproxy
from tests.faults.load import Load, lost, running_load
from tests.monitoring.observed import Observed
from tests.server.busy import busy_connections
from tests.server.connections import get
from tests.service import ROOT, free_port, running_service

pytestmark = pytest.mark.faults

CONNECTIONS = 50
PAGES = ["/", "/docs", "/openapi.json", "/ready", "/static/guides/docs.css", "/admin/login/", "/nowhere", "/v1"]
OF_API = ["/v1/health", "/v1/pets", "/v1/store/inventory", "/v1/nowhere"]


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
    [("migrated_url", configuration_of_containers), ("postgresql_url", configuration_of_machines)],
    ids=["containers, SQLite", "machines, PostgreSQL"],
)
def test_flood_of_pages_and_their_stop_do_not_reach_the_api(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    database: str,
    configuration: Callable[[str, str], tuple[str, dict[str, str]]],
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
        key = services[0].create_key()
        addresses = [service.url.removeprefix("http://") for service in services]
        entry = of_api.enter_context(running_haproxy(tmp_path, *configuration(*addresses)))
        with running_load(Load(entry, key, reads=True), 8) as load:
            with busy_connections(entry, [get("/admin/login/")] * CONNECTIONS) as flood:
                load.wait_for(100)
            with entry.client(key) as client:
                sent = {client.get(path).headers["X-Request-ID"]: path for path in [*PAGES, *OF_API]}
            of_pages.close()
            load.wait_for(50)
            with entry.client(key) as client:
                assert client.get("/admin/login/").status_code == 503
        assert lost(load) == []
    assert set(load.saw) == {"POST 201", "GET 200"}
    by_api, by_pages = (Observed(service, key, "").requests() for service in services)
    assert sum(line["method"] == "POST" for line in by_api) == load.saw["POST 201"]
    assert sum(line["route"] == "/admin/login/" for line in by_pages) >= flood.responses + 1
    assert "/admin/login/" not in {line["route"] for line in by_api}
    assert [sent[line["request_id"]] for line in by_api if line["request_id"] in sent] == OF_API
    assert [sent[line["request_id"]] for line in by_pages if line["request_id"] in sent] == PAGES
