"""A known vulnerability fails the audit until it is accepted, and an audit that did not happen says so."""

import json
import socket
import subprocess
import sys
from datetime import date

import pytest

from tests.contract.transports import Reply
from tests.http_server import Request, http_server
from tests.repository.audit import expired, unaccepted
from tests.repository.dependencies import ROOT, installed

pytestmark = [pytest.mark.once, pytest.mark.long]

FOUND = {"django 5.2.1": [{"id": "PYSEC-2026-1", "aliases": ["CVE-2026-1"], "fix_versions": ["5.2.2"]}]}


def osv(request: Request) -> Reply:
    """Answer as OSV would if it knew one vulnerability of Django."""
    affected = [{"package": {"name": "django", "ecosystem": "PyPI"}, "ranges": [], "versions": ["5.2.1"]}]
    known = {"id": "PYSEC-2026-1", "aliases": ["CVE-2026-1"], "summary": "It is made up.", "affected": affected}
    is_django = json.loads(request.body)["package"]["name"] == "django"
    return Reply(200, [], json.dumps({"vulns": [known]} if is_django else {}).encode())


def audit(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.repository.audit", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_vulnerability_fails_the_audit() -> None:
    with http_server(osv) as url:
        result = audit("--osv-url", f"{url}/v1/query")

    version = installed()["django"].version
    assert f"django {version}: PYSEC-2026-1 (CVE-2026-1), fixed in no release" in result.stdout
    assert "NOT AUDITED" not in result.stdout
    assert result.returncode == 1


def test_an_audit_without_a_response_says_so_and_fails_if_it_is_strict() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1/query"

    results = [audit("--osv-url", url), audit("--osv-url", url, "--strict")]

    assert [result.returncode for result in results] == [0, 1]
    assert all("NOT AUDITED" in result.stdout for result in results)


def test_a_vulnerability_is_accepted_until_its_date_under_any_of_its_names() -> None:
    last, next_day = date(2026, 12, 31), date(2027, 1, 1)
    found = ["django 5.2.1: PYSEC-2026-1 (CVE-2026-1), fixed in 5.2.2"]
    for accepted_id in ("PYSEC-2026-1", "CVE-2026-1"):
        accepted = [{"id": accepted_id, "reason": "It is made up.", "until": last}]
        assert unaccepted(FOUND, accepted, last) == expired(accepted, last) == []
        assert unaccepted(FOUND, accepted, next_day) == found
        assert expired(accepted, next_day) == [f"{accepted_id}: accepted until 2026-12-31 only"]
    assert unaccepted(FOUND, [{"id": "CVE-2026-2", "reason": "Another one.", "until": last}], last) == found
