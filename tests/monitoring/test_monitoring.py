"""A real Prometheus that scrapes a service can use the alerts and the dashboard in petservice/monitoring."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.monitoring.observed import Observed, observed_service
from tests.monitoring.requests import KINDS, send
from tests.service import ROOT, TLS, free_port
from tests.waiting import wait_until

MONITORING = ROOT / "petservice" / "monitoring"
ALERTS = MONITORING / "alerts.yml"
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not shutil.which("promtool"), reason="needs Debian's package prometheus"),
]

SERIES = """
rule_files: [{alerts}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'up{{job="petservice", instance="a"}}'
        values: '{up}'
      - series: 'petservice_http_requests_total{{job="petservice", route="/v1/pets", method="GET", status="200"}}'
        values: '0+{good}x60'
      - series: 'petservice_http_requests_total{{job="petservice", route="/v1/pets", method="GET", status="500"}}'
        values: '0+{bad}x60'
      - series: 'petservice_http_request_duration_seconds_bucket{{job="petservice", route="/v1/pets", le="0.1"}}'
        values: '0+{quick}x60'
      - series: 'petservice_http_request_duration_seconds_bucket{{job="petservice", route="/v1/pets", le="1"}}'
        values: '0+100x60'
      - series: 'petservice_http_request_duration_seconds_bucket{{job="petservice", route="/v1/pets", le="+Inf"}}'
        values: '0+100x60'
    promql_expr_test:
      - expr: count by (alertname) (ALERTS{{alertstate="firing"}})
        eval_time: 30m
        exp_samples: [{expected}]
"""
HEALTHY = {"up": "1+0x60", "good": 1000, "bad": 1, "quick": 100}


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True)


def test_prometheus_accepts_the_rules() -> None:
    checked = promtool("check", "rules", str(ALERTS))

    assert checked.returncode == 0, checked.stderr
    assert "3 rules found" in checked.stdout


@pytest.mark.parametrize(
    ("problem", "alert"),
    [
        pytest.param({}, None, id="no problem"),
        pytest.param({"bad": 30}, "PetserviceFails", id="three in a hundred fail"),
        pytest.param({"quick": 90}, "PetserviceIsSlow", id="one in ten is slow"),
        pytest.param({"up": "0+0x60"}, "PetserviceIsMissing", id="no response"),
        pytest.param({"up": "_x60"}, "PetserviceIsMissing", id="no target"),
    ],
)
def test_each_alert_fires_only_for_its_own_problem(
    tmp_path: Path, problem: dict[str, object], alert: str | None
) -> None:
    labels = f"""{{labels: '{{alertname="{alert}"}}', value: 1}}""" if alert else ""
    file = tmp_path / "tests.yml"
    file.write_text(SERIES.format(alerts=ALERTS, expected=labels, **HEALTHY | problem))

    tested = promtool("test", "rules", str(file))

    assert tested.returncode == 0, tested.stdout + tested.stderr


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Observed, str]]:
    """A service, and the URL of the API of a Prometheus that scrapes it and has loaded the rules."""
    folder = tmp_path_factory.mktemp("prometheus")
    port = free_port()
    with observed_service(folder) as observed:
        target = observed.metrics_url.removeprefix("http://").removesuffix("/metrics")
        (folder / "prometheus.yml").write_text(
            f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{ALERTS}]
scrape_configs:
  - job_name: petservice
    static_configs: [{{targets: ["{target}"]}}]
"""
        )
        command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb"]
        with (folder / "prometheus.log").open("w") as log:
            process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}/api/v1"
        try:
            wait_until(lambda: process.poll() is not None or _is_up(address))
            assert process.poll() is None, (folder / "prometheus.log").read_text()
            yield observed, address
        finally:
            process.terminate()
            process.wait(timeout=40)


def _is_up(address: str) -> bool:
    try:
        return bool(_query(address, 'up{job="petservice"} == 1'))
    except (httpx.TransportError, httpx.HTTPStatusError):  # its status is 503 while it starts
        return False


def _query(address: str, expression: str) -> list[dict[str, Any]]:
    response = httpx.get(
        f"{address}/query", params={"query": expression}, trust_env=False, verify=TLS
    ).raise_for_status()
    result: list[dict[str, Any]] = response.json()["data"]["result"]
    return result


def _value(address: str, expression: str) -> float:
    """Return the value of an expression that has one series or none yet."""
    return sum(float(series["value"][1]) for series in _query(address, expression))


def test_the_rules_are_evaluated_without_errors(scraped: tuple[Observed, str]) -> None:
    _, address = scraped

    def rules() -> list[dict[str, Any]]:
        groups = httpx.get(f"{address}/rules", trust_env=False, verify=TLS).json()["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    wait_until(lambda: {(rule["health"], rule["state"]) for rule in rules()} == {("ok", "inactive")})


def test_each_panel_of_the_dashboard_shows_a_value(scraped: tuple[Observed, str]) -> None:
    observed, address = scraped
    expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    expressions = [text.replace("$job", "petservice").replace("$__rate_interval", "10m") for text in expressions]
    assert not any("$" in expression for expression in expressions)

    def shown(expression: str) -> list[dict[str, Any]]:
        return [series for series in _query(address, expression) if series["value"][1] != "NaN"]

    # A rate needs requests before a scrape, and further ones before a later scrape.
    count = 'sum(petservice_http_requests_total{job="petservice"})'
    for _ in range(2):
        before = _value(address, count)
        send(observed, KINDS[:8])
        wait_until(lambda before=before: _value(address, count) >= before + 8)

    errors = [expression for expression in expressions if "5.." in expression]
    assert errors
    for expression in errors:  # no request fails here, so there is no series
        assert shown(expression) == []
    expressions = [expression.replace("5..", "2..") for expression in expressions]
    assert [expression for expression in expressions if not shown(expression)] == []


def test_dashboard_has_the_structure_that_grafana_imports() -> None:
    assert DASHBOARD["uid"] == "petservice"
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {"datasource", "job"}
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in DASHBOARD["panels"]:
        assert {"type", "title", "gridPos", "datasource", "targets"} <= panel.keys()
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
