"""Requests that Schemathesis generates from the OpenAPI document get the responses that it describes.

The configuration is in schemathesis.toml.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service import ROOT, running_service

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
# The maximum number of generated cases for each operation and for sequences of operations. The document's examples and
# edge cases are always added.
CASES = 15


# PostgreSQL, because it refuses more values than SQLite.
@pytest.mark.once(on="postgresql")
@pytest.mark.long
def test_generated_requests_get_documented_responses(tmp_path: Path, migrated_url: str) -> None:
    path = tmp_path / "report.json"
    environment = os.environ | {
        "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path),
        "NO_PROXY": "127.0.0.1",
    }
    # Schemathesis runs no code of the service, and takes twice as long while its coverage is measured.
    environment.pop("COVERAGE_PROCESS_CONFIG", None)

    # A service without pets, because those of the shared service would change the generated requests.
    with running_service(tmp_path, DATABASE_URL=migrated_url) as service:
        run = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", CONFIGURATION, "--no-color"),
                *("run", f"{service.url}/openapi.json", "-H", f"X-API-Key: {service.create_key()}"),
                *("--max-examples", str(CASES), "--report-json-path", path),
            ],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    assert run.returncode == 0, run.stdout
    report = json.loads(path.read_text())
    # A run without requests succeeds as well, so these lines check that every phase tested operations.
    assert report["complete"]
    assert report["operations"]["tested"] == report["operations"]["total"] > 0
    assert {name: phase["status"] for name, phase in report["phases"].items()} == dict.fromkeys(
        ("examples", "coverage", "fuzzing", "stateful"), "success"
    )
    log = service.log.read_text()
    assert "Traceback" not in log, log
