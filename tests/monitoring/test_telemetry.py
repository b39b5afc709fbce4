"""A request can be followed: its trace in log lines and in OpenTelemetry's spans, its errors in Sentry's protocol."""

import gzip
import json
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from petservice.monitoring.telemetry import trace_id_of
from tests.contract.transports import Reply
from tests.databases import migrated_database_url
from tests.http_server import Request, http_server
from tests.monitoring.observed import Observed
from tests.service import GUNICORN, SERVE, fetch, running_service, stopped_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once

# Paths that the fast path answers, that Django answers on a thread, and a page.
FAST, SLOW, PAGE = "/v1/pets", "/v1/pets?limit=1&x=1", "/admin/login/"


Received = list[tuple[str, bytes]]


@contextmanager
def collector() -> Iterator[tuple[str, Received]]:
    """The address of a server that accepts everything, and the paths and bodies that it has received."""
    received: Received = []

    def accept(request: Request) -> Reply:
        is_compressed = request.header("Content-Encoding") == "gzip"
        received.append((request.target, gzip.decompress(request.body) if is_compressed else request.body))
        return Reply(200, [], b"")

    with http_server(accept) as url:
        yield url.removeprefix("http://"), received


def spans(received: Received) -> list[Any]:
    requests = [ExportTraceServiceRequest.FromString(body) for path, body in received if path == "/v1/traces"]
    resources = [resource for one in requests for resource in one.resource_spans]
    attributes = {(one.key, one.value.string_value) for each in resources for one in each.resource.attributes}
    name = "petservice" if ("peer.service.name", "shop") in attributes else "shop"
    assert not resources or ("service.name", name) in attributes
    return [span for resource in resources for scope in resource.scope_spans for span in scope.spans]


def follow(observed: Observed, path: str) -> tuple[str, str, int]:
    """Send a request as a part of a new trace, and return the ids of the trace and of its parent, and the status."""
    trace, parent = secrets.token_hex(16), secrets.token_hex(8)
    with observed.service.client(observed.key) as client:
        response = client.get(path, headers={"traceparent": f"00-{trace}-{parent}-01"})
    return trace, parent, response.status_code


Followed = tuple[Observed, Received]
ALL_SERVERS = pytest.mark.parametrize("followed", ["serve", "gunicorn"], indirect=True)


@pytest.fixture(scope="module", params=["serve"])
def followed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    """A service by `serve`, or by plain gunicorn, and what its collector of spans and errors receives."""
    folder = tmp_path_factory.mktemp(request.param)
    with collector() as (address, received), migrated_database_url(folder) as url:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{address}", "OTEL_BSP_SCHEDULE_DELAY": "100"}
        variables |= {"OTEL_RESOURCE_ATTRIBUTES": "peer." * (request.param == "serve") + "service.name=shop"}
        variables |= {"SENTRY_DSN": f"http://public@{address}/1", "SENTRY_ENVIRONMENT": "shop", "NO_PROXY": "*"}
        variables |= {"DATABASE_URL": url, "PETSERVICE_LOG_FORMAT": "json", "WEB_CONCURRENCY": "1"}
        key = stopped_service(folder, url).create_key()
        command = GUNICORN if request.param == "gunicorn" else SERVE
        with running_service(folder, command=command, **variables) as service:
            observed = Observed(service, key, "")
            follow(observed, FAST)  # a worker of `serve` hands its first request to Django
            yield observed, received


@ALL_SERVERS
@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        (FAST, "GET /v1/pets", {("database", "GET /v1/pets")}),
        (SLOW, "GET /v1/pets", {("django", "GET /v1/pets"), ("database", "django")}),
        (PAGE, "GET /admin/login/", {("django", "GET /admin/login/")}),
    ],
)
def test_spans_of_a_request_belong_to_the_trace_of_the_client(
    request: pytest.FixtureRequest, followed: Followed, path: str, name: str, expected: set[tuple[str, str]]
) -> None:
    observed, received = followed
    if path == FAST and "serve" not in request.node.callspec.id:  # plain gunicorn has no fast path
        expected = {("django", "GET /v1/pets"), ("database", "django")}

    trace, parent, status = follow(observed, path)

    def of_trace() -> dict[str, Any]:
        return {span.span_id.hex(): span for span in spans(received) if span.trace_id.hex() == trace}

    wait_until(lambda: any(span.name == name for span in of_trace().values()))
    found = of_trace()
    (sent,) = [span for span in found.values() if span.name == name]
    assert sent.parent_span_id.hex() == parent
    attributes = {attribute.key: attribute.value.int_value for attribute in sent.attributes}
    assert attributes["http.response.status_code"] == status
    others = {(span.name, found[span.parent_span_id.hex()].name) for span in found.values() if span is not sent}
    assert others >= expected
    assert others <= expected | {("database", "django")}


def test_lines_of_a_request_have_its_trace_and_say_where_the_time_went(followed: Followed) -> None:
    observed, _ = followed

    def lines(trace: str) -> list[dict[str, Any]]:
        return [line for line in observed.requests() if line.get("trace_id") == trace]

    for path in (FAST, SLOW, PAGE):
        trace, *_ = follow(observed, path)
        wait_until(lambda trace=trace: lines(trace))
        (line,) = lines(trace)
        assert 0 < line["database_milliseconds"] < line["milliseconds"] or path == PAGE
        assert (line["queue_milliseconds"] > 0) == (path != FAST)
    with observed.service.client(observed.key) as client:
        client.get(FAST, headers={"traceparent": "00-x", "X-Request-ID": "without-trace"})
    wait_until(lambda: "without-trace" in [line["request_id"] for line in observed.requests()])
    (line,) = [line for line in observed.requests() if line["request_id"] == "without-trace"]
    assert "trace_id" not in line


@ALL_SERVERS
@pytest.mark.parametrize("path", [FAST, SLOW, "/v1/store/inventory?x"])
def test_errors_are_sent_without_keys_and_variables(followed: Followed, path: str) -> None:
    observed, received = followed
    received.clear()
    observed.service.execute("ALTER TABLE apikeys_apikey RENAME TO hidden")
    try:
        trace, *_ = follow(observed, path)
    finally:
        observed.service.execute("ALTER TABLE hidden RENAME TO apikeys_apikey")

    def events() -> list[dict[str, Any]]:
        bodies = [body for name, body in received if name == "/api/1/envelope/"]
        return [json.loads(line) for body in bodies for line in body.splitlines() if b'"exception"' in line]

    wait_until(lambda: len(events()) == 1)
    (event,) = events()
    assert event["environment"] == "shop"
    assert "no such table" in json.dumps(event["exception"])
    text = json.dumps(event)
    assert observed.key not in text
    assert '"vars"' not in text
    wait_until(lambda: re.search(f'"level": "ERROR".*"trace_id": "{trace}"', observed.service.log.read_text()))


@pytest.mark.parametrize("wrong", ["OTEL_PROPAGATORS", "SENTRY_DSN"])
def test_the_service_runs_without_a_collector_whose_variables_cannot_be_used(tmp_path: Path, wrong: str) -> None:
    variables = {wrong: "nonsense"}
    if wrong.startswith("OTEL"):
        variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
    with migrated_database_url(tmp_path) as url, running_service(tmp_path, DATABASE_URL=url, **variables) as service:
        assert fetch(f"{service.url}/v1/pets").status_code == 401
    assert f"A collector gets nothing, check the variables {wrong.partition('_')[0]}_" in service.log.read_text()


def test_nothing_is_loaded_unless_it_is_configured() -> None:
    code = "import sys; from petservice import wsgi; wsgi.telemetry.start(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert not {b"opentelemetry", b"sentry_sdk"} & {*loaded.stdout.split()}


@pytest.mark.parametrize(
    "malformed",
    [
        "",
        "00",
        f"00-{'a' * 32}-{'b' * 16}",
        f"ff-{'a' * 32}-{'b' * 16}-01",
        f"00-{'0' * 32}-{'b' * 16}-01",
        f"00-{'a' * 32}-{'0' * 16}-01",
        f"00-{'A' * 32}-{'b' * 16}-01",
        f"00-{'a' * 32}-{'b' * 16}-01x",
        f"00-{'a' * 32}-{'b' * 16}-01\n",
        f"00-{'a' * 32}-{'b' * 16}-01-what-comes",
    ],
)
def test_malformed_traceparent_names_no_trace_and_one_of_a_later_version_may_be_longer(malformed: str) -> None:
    assert trace_id_of(malformed) is None
    assert trace_id_of(f"01-{'a' * 32}-{'b' * 16}-01-what-comes") == "a" * 32
