"""Prometheus evaluates the alerts and the dashboard in petservice/monitoring over the series of a service."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.monitoring.observed import observed_service
from tests.service import ROOT, make_certificate
from tests.waiting import wait_until

MONITORING = ROOT / "petservice" / "monitoring"
ALERTS = MONITORING / "alerts.yml"
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())

# A request that the fast path leaves to Django.
NOT_FAST = "/v1/pets?limit=1&limit=1"
DURATION = "petservice_http_request_duration_seconds_bucket"

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not shutil.which("promtool"), reason="needs Debian's package prometheus"),
]

# The values of each series in an hour of minutes. A problem replaces those that are named.
SERIES = {
    'up{job="petservice", instance="a"}': "%(up)s",
    'petservice_ready{job="petservice", instance="a"}': "%(ready)s",
    'petservice_certificate_days_left{job="petservice", instance="a"}': "%(days)s+0x60",
    'petservice_http_requests_total{job="petservice", route="/v1/pets", method="GET", status="200"}': "0+%(good)sx60",
    'petservice_http_requests_total{job="petservice", route="/v1/pets", method="GET", status="500"}': "0+%(bad)sx60",
    f'{DURATION}{{job="petservice", route="/v1/pets", le="0.1"}}': "0+%(quick)sx60",
    f'{DURATION}{{job="petservice", route="/v1/pets", le="1"}}': "0+100x60",
    f'{DURATION}{{job="petservice", route="/v1/pets", le="+Inf"}}': "0+100x60",
    'petservice_database_errors_total{job="petservice", kind="lock"}': "0+%(locks)sx60",
    'petservice_database_errors_total{job="petservice", kind="constraint"}': "0+60x60",
    'petservice_database_connections{job="petservice", state="open"}': "%(open)s+0x60",
    'petservice_database_connections{job="petservice", state="allowed"}': "97+0x60",
    'petservice_inventory_drift{job="petservice", instance="a"}': "%(drift)s+0x60",
    'petservice_queue_seconds_total{job="petservice", pool="api"}': "0+%(waited)sx60",
    'petservice_queued_total{job="petservice", pool="api"}': "0+100x60",
    'petservice_redis_failures_total{job="petservice", call="count"}': "0+%(redis)sx60",
    'petservice_logins_total{job="petservice", outcome="login"}': "0+60x60",
    'petservice_logins_total{job="petservice", outcome="login_failed"}': "0+%(wrong)sx60",
    'petservice_backup_age_seconds{job="petservice", instance="a"}': "%(backup)s+60x60",
}
HEALTHY = {"up": "1+0x60", "ready": "1+0x60", "days": 14, "good": 1000, "bad": 1, "quick": 100}
HEALTHY |= {"locks": 5, "open": 87, "drift": 0, "waited": 40, "redis": 0, "wrong": 9, "backup": 25 * 60 * 60 - 30 * 60}


# What is wrong, and the only alert that it leads to.
PROBLEMS: list[tuple[dict[str, object], str | None]] = [
    ({}, None),
    ({"bad": 30}, "PetserviceFails"),  # three in a hundred
    ({"quick": 90}, "PetserviceIsSlow"),  # nine in ten are quick
    ({"up": "0+0x60"}, "PetserviceIsMissing"),  # no response
    ({"up": "_x60"}, "PetserviceIsMissing"),  # no target
    ({"ready": "1+0x10 0+0x50"}, "PetserviceIsNotReady"),
    ({"ready": "1+0x28 0+0x1 1+0x30"}, None),  # not ready for a minute, as during a restart
    ({"days": 13.9}, "PetserviceCertificateExpires"),
    ({"locks": 10}, "PetserviceDatabaseFails"),  # calls wait for a lock in vain
    ({"open": 88}, "PetserviceConnectionsRunOut"),  # nine of ten
    ({"drift": 1}, "PetserviceInventoryDrifts"),
    ({"waited": 60}, "PetserviceQueues"),  # requests wait for a thread
    ({"redis": 1}, "PetserviceRedisFails"),
    ({"wrong": 11}, "PetserviceLoginsFail"),  # somebody guesses passwords
    ({"backup": 26 * 60 * 60}, "PetserviceBackupIsOld"),
]


def evaluate(folder: Path, *states: tuple[dict[str, str], list[dict[str, Any]]]) -> None:
    """Let Prometheus evaluate expressions and the alerts after half an hour of each state, and compare the samples.

    A state has the values of each series, and the expressions with their samples.
    """
    groups = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [{"eval_time": "30m", **expression} for expression in expressions],
        }
        for series, expressions in states
    ]
    file = folder / "tests.yml"  # JSON is YAML as well
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": groups}))
    tested = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_each_alert_fires_only_for_its_own_problem(tmp_path: Path) -> None:
    """The message of a failure names the alert that is expected, and the one that fires."""
    states = []
    for problem, alert in PROBLEMS:
        samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if alert else []
        firing = {"expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "exp_samples": samples}
        states.append(({name: values % (HEALTHY | problem) for name, values in SERIES.items()}, [firing]))
    evaluate(tmp_path, *states)


def shown(expression: str) -> str:
    """Return an expression of a panel as the dashboard sends it."""
    return expression.replace("$job", "petservice").replace("$__rate_interval", "10m")


PANELS = {panel["title"]: [shown(target["expr"]) for target in panel["targets"]] for panel in DASHBOARD["panels"]}


def scraped(folder: Path) -> dict[str, str]:
    """Return the series of a service that clients and staff have used, with a growth of one in each minute.

    They include each that the alerts and the panels name.
    """
    certificate, key = make_certificate(folder / "tls", "IP:127.0.0.1")
    files = {"TLS_CERTFILE": str(certificate), "TLS_KEYFILE": str(key), "PETSERVICE_DATA_DIR": str(folder)}
    (folder / "last-backup").touch()
    names = set(re.findall(r"petservice_\w+", ALERTS.read_text() + str(PANELS)))
    with observed_service(folder, **files) as observed:
        with observed.service.client(observed.key) as client:
            for path in ("/v1/pets", NOT_FAST, "/v1/pets", "/admin/login/"):
                assert client.get(path).status_code == 200
            assert client.get("/v1/pets", headers={"X-API-Key": ""}).status_code == 401
        wait_until(lambda: names <= {name for name, _ in observed.samples()})
        samples = observed.samples()
    found = {}
    for name, labels in samples:
        values = {"job": "petservice", "instance": "a", **dict(labels)}
        found[f"{name}{{{', '.join(f'{label}={json.dumps(value)}' for label, value in values.items())}}}"] = "0+1x60"
    return found


def words(series: str) -> frozenset[str]:
    """Return the name of a series and those of its labels, without the instance."""
    return frozenset(re.findall(r"\w+(?=[{=])", series)) - {"instance"}


def test_each_panel_shows_trouble_and_what_there_is_without_any(tmp_path: Path) -> None:
    quiet = scraped(tmp_path)
    assert {words(series) for series in SERIES} - {words(series) for series in quiet} == {words('up{job=""}')}
    (refused,) = (series for series in quiet if "requests_total{" in series and '"401"' in series)
    failing = quiet | {refused.replace('"401"', '"500"'): "0+100x60"}
    states = []
    for series, fails in ((quiet, 0), (failing, 1)):
        values = {f"count(({one}) == ({one})) > bool 0": 1 for targets in PANELS.values() for one in targets}
        values[f"({PANELS['Share that fails (5xx)'][0]}) > bool 0.01"] = fails
        samples = [{"expr": one, "exp_samples": [{"labels": "{}", "value": value}]} for one, value in values.items()]
        states.append((series, samples))
    evaluate(tmp_path, *states)


def test_each_alert_names_its_paragraph_in_the_guide() -> None:
    operations = ROOT / "petservice" / "docs" / "operations.md"
    headings = re.findall(r"^### (.+)$", operations.read_text(), re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}

    named = re.findall(r"^ +runbook: petservice/docs/operations.md#(.+)$", ALERTS.read_text(), re.MULTILINE)

    assert len(named) == ALERTS.read_text().count("- alert:")
    assert set(named) <= anchors


def test_dashboard_has_the_structure_that_grafana_imports() -> None:
    assert DASHBOARD["uid"] == "petservice"
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {"datasource", "job"}
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in DASHBOARD["panels"]:
        assert {"type", "title", "gridPos", "datasource", "targets"} <= panel.keys()
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
