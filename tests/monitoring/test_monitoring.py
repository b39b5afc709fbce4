"""A real Prometheus that scrapes a service can use the alerts and the dashboard in petservice/monitoring."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from petservice.apikeys.models import APIKey
from petservice.server.limits import THREADS
from tests.monitoring.observed import Observed, observed_service
from tests.programs import running_program
from tests.service import ROOT, fetch, free_port, make_certificate
from tests.waiting import wait_until

MONITORING = ROOT / "petservice" / "monitoring"
ALERTS = MONITORING / "alerts.yml"
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())

DURATION = "petservice_http_request_duration_seconds_bucket"

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not shutil.which("promtool"), reason="needs Debian's package prometheus"),
]

# The values of each series in an hour of minutes. A problem replaces those that are named.
SERIES = {
    'up{job="petservice", instance="a"}': "%(up)s",
    'petservice_workers{job="petservice", instance="a"}': "%(workers)s",
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
HEALTHY = {"up": "1+0x60", "workers": "2+0x60", "ready": "1+0x60", "days": 14, "good": 1000, "bad": 1, "quick": 100}
HEALTHY |= {"locks": 5, "open": 87, "drift": 0, "waited": 40, "redis": 0, "wrong": 9, "backup": 25 * 60 * 60 - 30 * 60}


# What is wrong, and the only alert that it leads to.
PROBLEMS: list[tuple[dict[str, object], str | None]] = [
    ({}, None),
    ({"bad": 30}, "PetserviceFails"),  # three in a hundred
    ({"quick": 90}, "PetserviceIsSlow"),  # nine in ten are quick
    ({"up": "0+0x60"}, "PetserviceIsMissing"),  # no response
    ({"up": "_x60"}, "PetserviceIsMissing"),  # no target
    ({"workers": "_x60"}, "PetserviceIsMissing"),  # each worker ends at its start
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


def test_each_alert_fires_only_for_its_own_problem(tmp_path: Path) -> None:
    """The message of a failure names the alert that is expected, and the one that fires."""
    firing = {"expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": "30m"}
    groups = [
        {
            "interval": "1m",
            "input_series": [
                {"series": name, "values": values % (HEALTHY | problem)} for name, values in SERIES.items()
            ],
            "promql_expr_test": [
                firing | {"exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if alert else []}
            ],
        }
        for problem, alert in PROBLEMS
    ]
    file = tmp_path / "tests.yml"  # JSON is YAML as well
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": groups}))

    tested = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)

    assert tested.returncode == 0, tested.stdout + tested.stderr


@contextmanager
def prometheus(folder: Path, observed: Observed) -> Iterator[str]:
    """The URL of the API of a Prometheus that scrapes a service and has loaded the rules."""
    port = free_port()
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
    command.append(f"--web.listen-address=127.0.0.1:{port}")
    address = f"http://127.0.0.1:{port}/api/v1"
    with running_program(command, folder / "prometheus.log", lambda: _is_up(address)):
        yield address


def _is_up(address: str) -> bool:
    try:
        return bool(_query(address, 'up{job="petservice"} == 1'))
    except (httpx.TransportError, httpx.HTTPStatusError):  # its status is 503 while it starts
        return False


def _query(address: str, expression: str) -> list[dict[str, Any]]:
    response = fetch(f"{address}/query?{urlencode({'query': expression})}").raise_for_status()
    result: list[dict[str, Any]] = response.json()["data"]["result"]
    return result


def _value(address: str, expression: str) -> float:
    """Return the value of an expression that has one series or none yet."""
    return sum(float(series["value"][1]) for series in _query(address, expression))


def _alerts(address: str) -> set[str]:
    """Return the alerts whose condition holds, for however short a time, and fail if one cannot be evaluated."""
    groups = fetch(f"{address}/rules").json()["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}, rules  # unknown before its first evaluation
    return {rule["name"] for rule in rules if rule["state"] != "inactive"}


def _panels(address: str) -> dict[str, list[list[float]]]:
    """Return the values that each panel of the dashboard shows, for each of its expressions."""
    return {
        panel["title"]: [_shown(address, target["expr"]) for target in panel["targets"]]
        for panel in DASHBOARD["panels"]
    }


def _shown(address: str, expression: str) -> list[float]:
    expression = expression.replace("$job", "petservice").replace("$__rate_interval", "10m")
    assert "$" not in expression
    values = [float(series["value"][1]) for series in _query(address, expression)]
    return [value for value in values if not isnan(value)]


# Requests that have different routes and statuses, and all succeed.
PATHS = ("/v1/pets", "/v1/store/inventory", "/v1/health", "/ready", "/", "/admin/login/")


@pytest.mark.long
def test_alerts_and_panels_show_trouble_and_nothing_while_there_is_none(tmp_path: Path) -> None:
    """A real Prometheus evaluates every alert and every panel of the dashboard in both states.

    Three alerts need more: a stopped service, at the end, and a hundred failed logins and PostgreSQL, which only the
    test above has.
    """
    certificate, key = make_certificate(tmp_path / "good", "IP:127.0.0.1", days=30)
    old, old_key = make_certificate(tmp_path / "old", "IP:127.0.0.1", days=13)
    files = {"TLS_CERTFILE": str(certificate), "TLS_KEYFILE": str(key)}
    files |= {"PETSERVICE_DATA_DIR": str(tmp_path), "REDIS_URL": f"redis://127.0.0.1:{free_port()}"}
    count = 'sum(petservice_http_requests_total{job="petservice"})'
    with observed_service(tmp_path, **files) as observed, prometheus(tmp_path, observed) as address:
        observed.service.tls.load_verify_locations(old)

        def request(*paths: str) -> list[int]:
            """Return the statuses of GET requests, when Prometheus has counted them."""
            before = _value(address, count)
            with observed.service.client(observed.key) as client:
                statuses = [client.get(path).status_code for path in paths]
            wait_until(lambda: _value(address, count) >= before + len(paths))
            return statuses

        # A rate needs requests before a scrape, and further ones before a later scrape.
        assert {*request(*PATHS), *request(*PATHS)} == {200}
        wait_until(lambda: _value(address, 'petservice_ready{job="petservice"}') == 1)
        quiet = _panels(address)
        assert [title for title, values in quiet.items() if not all(values)] == []
        assert quiet["Share that fails (5xx)"] == [[0]]
        assert quiet["Ready (1) or not (0)"] == [[1]]
        assert 29 < quiet["Days until the TLS certificate expires"][0][0] < 30
        wait_until(lambda: _alerts(address) == set())

        observed.service.execute("INSERT INTO store_inventorycounter (status, count) VALUES ('sold', 3)")
        observed.service.process.send_signal(signal.SIGHUP)  # a new worker counts at its start
        wait_until(lambda: _alerts(address) == {"PetserviceInventoryDrifts"})
        assert max(_panels(address)["Pets by which the inventory is wrong"]) == [3]
        observed.service.execute("DELETE FROM store_inventorycounter")

        with observed.service.database() as database:
            database.execute("BEGIN IMMEDIATE")
            with ThreadPoolExecutor(4 * 2 * THREADS["api"]) as pool:  # of two workers, for requests that Django answers
                slow = [pool.submit(create_pet, observed) for _ in range(4 * 2 * THREADS["api"])]
                in_flight = 'sum(petservice_http_requests_in_flight{job="petservice"})'
                wait_until(lambda: _value(address, in_flight) == len(slow))
                time.sleep(1)  # longer than the alerts allow
                database.rollback()
                assert {response.result() for response in slow} == {201}
        (tmp_path / "last-backup").touch()
        os.utime(tmp_path / "last-backup", (0, 0))
        with observed.service.models():
            _, limited = APIKey.objects.create_key(name="Limited", requests_per_minute=10)
        with observed.service.client(limited) as client:
            assert client.get("/v1/pets").status_code == 200
        observed.service.execute("ALTER TABLE store_inventorycounter RENAME TO hidden")
        assert set(request(*["/v1/store/inventory"] * 40)) == {500}
        observed.service.execute("UPDATE django_migrations SET app = 'other' WHERE app = 'pets'")
        certificate.write_bytes(old.read_bytes())
        key.write_bytes(old_key.read_bytes())
        observed.service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: _value(address, 'petservice_certificate_days_left{job="petservice"}') < 14)
        wait_until(lambda: _value(address, 'petservice_ready{job="petservice"}') == 0)
        for _ in range(2):
            assert set(request("/admin/login/", "/admin/login/")) == {500}
        expected = {"PetserviceFails", "PetserviceIsSlow", "PetserviceIsNotReady", "PetserviceCertificateExpires"}
        expected |= {"PetserviceDatabaseFails", "PetserviceQueues", "PetserviceRedisFails", "PetserviceBackupIsOld"}
        wait_until(lambda: _alerts(address) == expected)
        trouble = _panels(address)
        assert [title for title, values in trouble.items() if not all(values)] == []
        assert trouble["Share that fails (5xx)"][0][0] > 0.01
        assert trouble["Ready (1) or not (0)"] == [[0]]
        assert max(trouble["Duration, 99th percentile by route"][0]) > 0.5
        assert 12 < trouble["Days until the TLS certificate expires"][0][0] < 13

        observed.service.process.terminate()
        wait_until(lambda: "PetserviceIsMissing" in _alerts(address))


def create_pet(observed: Observed) -> int:
    with observed.service.client(observed.key) as client:
        return client.post("/v1/pets?unusual", json={"name": "Rex"}).status_code


def test_each_alert_names_its_paragraph_in_the_guide() -> None:
    operations = ROOT / "petservice" / "docs" / "operations.md"
    headings = re.findall(r"^### (.+)$", operations.read_text(), re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}

    named = re.findall(r"^ +runbook: petservice/docs/operations.md#(.+)$", ALERTS.read_text(), re.MULTILINE)

    assert len(named) == ALERTS.read_text().count("- alert:")
    assert set(named) <= anchors
