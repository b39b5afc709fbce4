"""Each error is one line of the log, whose default format depends on the environment."""

import re
import runpy
import signal
from pathlib import Path

import pytest

from petservice.configuration import environment
from tests.monitoring.observed import Observed
from tests.monitoring.requests import line_of
from tests.server.connections import get, response_to
from tests.server.services import service_with_test_endpoints
from tests.service import Service, log_in
from tests.waiting import wait_until

pytestmark = pytest.mark.once


def error_of(observed: Observed, line: dict[str, object]) -> dict[str, str]:
    """Return the only error of the request of a line in the access log."""
    of_request = [one for one in observed.lines() if one.get("request_id") == line["request_id"]]
    (error,) = (one for one in of_request if one["level"] == "ERROR")
    return error


def test_error_has_its_traceback_in_one_line_with_the_id_of_its_request(observed: Observed) -> None:
    observed.service.execute("ALTER TABLE apikeys_apikey RENAME TO hidden")
    try:  # by a request that the fast path leaves to Django
        line = line_of(observed, get("/v1/pets?limit=1&x=1", f"X-API-Key: {observed.key}".encode()))
    finally:
        observed.service.execute("ALTER TABLE hidden RENAME TO apikeys_apikey")

    assert line["status"] == 500
    error = error_of(observed, line)
    assert error["message"].startswith("Internal Server Error: /v1/pets")
    assert error["traceback"].startswith("Traceback (most recent call last):\n")
    assert "apikeys_apikey" in error["traceback"]


def test_crash_outside_django_logs_one_request_and_one_error(with_test_endpoints: Observed) -> None:
    line = line_of(with_test_endpoints, get("/v1/crash"))

    assert (line["route"], line["status"]) == ("no_route", 500)
    assert "RuntimeError: raised on purpose" in error_of(with_test_endpoints, line)["traceback"]


def test_a_request_that_django_calls_suspicious_is_a_warning_of_one_line(service: Service) -> None:
    lists = ["/admin/pets/pet/", "/admin/auth/user/", "/admin/pets/trashedpet/"]
    urls = [f"{url}?{query}=1" for url in lists for query in ("first%0Asecond__regex", "_to_field")]
    fields = {f"field{number}": "x" for number in range(1100)}
    before = len(service.log.read_text())  # of other tests
    service.create_staff("suspicious", "a long one")

    def text() -> str:
        return service.log.read_text()[before:]

    def lines() -> list[str]:
        return [line for line in text().splitlines() if " django.security." in line]

    with service.client() as client:
        log_in(client, "suspicious", "a long one")
        token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        responses = [*map(client.get, urls), client.post(urls[0], data=token | fields)]
        responses.append(client.post(urls[0], data=token | {"name": "x" * 3_000_000}))
    wait_until(lambda: len(lines()) == len(responses))

    assert [response.status_code for response in responses] == [400] * len(responses)
    assert all(re.search(r" WARNING django\.security\.", line) for line in lines())
    assert " ERROR " not in text()
    assert "Traceback" not in text()


def test_the_line_format_has_process_and_request_in_each_line_and_no_line_for_each_request(tmp_path: Path) -> None:
    """The lines of gunicorn are in its own file, if it has one."""
    file = tmp_path / "gunicorn.log"
    with service_with_test_endpoints(tmp_path, "--log-file", str(file), PETSERVICE_LOG_FORMAT="line") as service:
        assert response_to(service, get("/v1/crash", b"X-Request-ID: order-8")).status == 500
        (worker,) = service.workers()
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(timeout=40)
        lines = service.log.read_text().splitlines() + file.read_text().splitlines()
        dated = [line for line in lines if line.startswith("20")]

    with_ids = [re.match(r"\S+ \S+ [A-Z]+ ([\w.]+) (\d+) \[(\S+)\] ", line) for line in dated]
    assert all(with_ids), dated
    loggers = {(match[1], int(match[2]), match[3]) for match in with_ids if match}
    assert {("gunicorn.error", pid, "-") for pid in (service.process.pid, worker)} <= loggers
    assert ("petservice.server.application", worker, "order-8") in loggers
    assert "petservice.requests" not in {logger for logger, _, _ in loggers}


@pytest.mark.parametrize(("name", "log_format"), [("test", "line"), ("live", "json")])
def test_default_log_format_is_json_in_live(monkeypatch: pytest.MonkeyPatch, name: str, log_format: str) -> None:
    monkeypatch.delenv("PETSERVICE_LOG_FORMAT", raising=False)
    monkeypatch.setenv("PETSERVICE_ENVIRONMENT", name)

    assert runpy.run_path(environment.__file__)["LOG_FORMAT"] == log_format
