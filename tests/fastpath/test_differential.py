"""Two services, one with the fast path and one without, give the same responses and leave the same traces.

Both get the requests of the contract and generated ones, one after the other, on databases that begin with the same
keys and pets.
"""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from django.db.models import Sum
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pets.models import IdempotencyRecord, Pet
from petservice.apikeys.models import APIKey, KeyDay
from tests.contract.rows.row import ID, Row
from tests.contract.seed import PETS, new_keys, seed
from tests.contract.transports import as_bytes
from tests.databases import migrated_database_url
from tests.fastpath.border import fixed_requests, requests
from tests.monitoring.observed import Observed
from tests.server.connections import Client
from tests.service import free_port, running_service, stopped_service
from tests.waiting import wait_until

# Half of them create pets.
EXAMPLES = 200
METRICS = (
    "petservice_http_requests_total",
    "petservice_http_request_duration_seconds_count",
    "petservice_key_requests_total",
    "petservice_key_errors_total",
    "petservice_idempotent_requests_total",
    "petservice_refusals_total",
)


@dataclass
class Side:
    """One of the two services, with the ids of pets in the order in which responses have named them."""

    observed: Observed
    ids: dict[str, str] = field(default_factory=dict)

    def response(self, row: Row, cuts: list[int], seed: dict[str, str]) -> tuple[str, list[str], str]:
        """Send a request in parts, and return the status line, headers and body of its response without what is random.

        The connection may end before the service has a body that is too large.
        """
        headers = [("X-Forwarded-Proto", "https"), *row.headers]  # one of a row itself is repeated then
        sent = as_bytes(row.method, row.target, headers, row.body, seed=seed, host="localhost")
        with Client(self.observed.service) as client:
            with suppress(ConnectionError):
                for begin, end in pairwise([0, *cuts, len(sent)]):
                    client.send(sent[begin:end])
            received = b"".join(iter(lambda: client.socket.recv(65536), b"")).decode("latin-1")
        head, _, body = ID.sub(self._name, received).partition("\r\n\r\n")
        status, *headers = head.split("\r\n")
        return status, sorted(map(_without_randomness, headers)), body

    def _name(self, found: re.Match[str]) -> str:
        return self.ids.setdefault(found[0], f"id {len(self.ids)}")

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return what the requests have written."""
        with self.observed.service.models():
            texts = ("name", "tag")
            return {
                "pets": list(Pet.objects.order_by("pk").values_list(*texts, "status", "created_by")),
                "records": list(IdempotencyRecord.objects.order_by("pet_id").values_list("api_key_id", "key", *texts)),
                # Of all days, because midnight can pass between the two services.
                "uses": list(
                    KeyDay.objects.order_by("api_key_id")
                    .values_list("api_key__prefix")
                    .annotate(Sum("requests"), Sum("client_errors"), Sum("server_errors"))
                ),
                "addresses": list(APIKey.objects.order_by("pk").values_list("prefix", "last_used_address")),
            }

    def log(self) -> Counter[tuple[object, ...]]:
        """Return the lines of the access log of the generated requests."""
        shown = ("method", "route", "status", "key_prefix", "address")
        lines = [line for line in self.observed.requests() if line["route"] != "/v1/health"]
        return Counter(tuple(line[name] for name in shown) for line in lines)

    def metrics(self) -> dict[object, float]:
        """Return the numbers of requests by route, method and status, and those of causes that both ways have."""
        return {
            (name, labels): value
            for (name, labels), value in self.observed.samples().items()
            if name in METRICS and ("route", "/v1/health") not in labels
        }


def _without_randomness(header: str) -> str:
    name, _, value = header.partition(": ")
    if name == "Date" or (name == "X-Request-ID" and re.fullmatch(r"[0-9a-f]{32}", value)):
        return name
    return header


@contextmanager
def side(folder: Path, plain: dict[str, str], fast_path: str) -> Iterator[Side]:
    folder.mkdir()
    port = free_port()
    variables = {"METRICS_BIND": f"127.0.0.1:{port}", "PETSERVICE_LOG_FORMAT": "json", "WEB_CONCURRENCY": "1"}
    with migrated_database_url(folder) as url:
        with stopped_service(folder, url).models():
            seed(plain)
        # All hosts are allowed, so that only malformed ones are refused. The contract's rows have one that is unknown.
        variables |= {"ALLOWED_HOSTS": "*", "PETSERVICE_REQUIRE_HTTPS": "1"}
        variables |= {"DATABASE_URL": url, "PETSERVICE_FAST_PATH": fast_path}
        with running_service(folder, **variables) as service:
            yield Side(Observed(service, "", f"http://127.0.0.1:{port}/metrics"))


def test_both_ways_are_the_same(tmp_path: Path) -> None:
    plain, sent = new_keys(), 0

    with ExitStack() as stack:
        fast, slow = (stack.enter_context(side(tmp_path / name, plain, name)) for name in ("on", "off"))

        def compare(row: Row, cuts: list[int]) -> None:
            nonlocal sent
            sent += 1
            names = {**plain, **PETS, "new": f"key {sent}"}
            assert fast.response(row, cuts, names) == slow.response(row, cuts, names)

        for row in fixed_requests():
            compare(row, [])

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(row=requests(), cuts=st.just([]) | st.lists(st.integers(1, 400), max_size=2).map(sorted))
        def compare_generated(row: Row, cuts: list[int]) -> None:
            compare(row, cuts)

        compare_generated()

        wait_until(lambda: fast.log() == slow.log())
        wait_until(lambda: fast.metrics() == slow.metrics())
        assert len(fast.metrics()) > 30
        for one in (fast, slow):  # which writes the use of keys
            one.observed.service.process.terminate()
            one.observed.service.process.wait(timeout=40)
        assert fast.rows() == slow.rows()
