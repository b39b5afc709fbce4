"""Linters find nothing in the document; what is waived, and why, is in their configuration."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.tools import DOCUMENT, HERE, run


def spectral(document: Path) -> str:
    result = run("spectral", "lint", "--fail-severity", "hint", "--ruleset", HERE / ".spectral.yaml", document)
    return result.stdout + result.stderr if result.returncode else ""


def redocly(document: Path) -> str:
    # What it says of the version of Node.js is on standard error.
    result = run("redocly", "lint", "--config", HERE / "redocly.yaml", "--format", "json", document)
    report = json.loads(result.stdout)
    return "" if report["totals"] == {"errors": 0, "warnings": 0, "ignored": 0} else result.stdout


def openapi_spec_validator(document: Path) -> str:
    result = run("openapi-spec-validator", document)
    return result.stdout + result.stderr if result.returncode else ""


every_linter = pytest.mark.parametrize(
    "linter", [spectral, redocly, openapi_spec_validator], ids=lambda it: it.__name__
)


@every_linter
def test_the_linter_finds_nothing(linter: Callable[[Path], str]) -> None:
    assert linter(DOCUMENT) == ""


@every_linter
def test_the_linter_finds_an_undescribed_path_parameter(linter: Callable[[Path], str], tmp_path: Path) -> None:
    document = json.loads(DOCUMENT.read_text())
    del document["paths"]["/pets/{petId}"]["get"]["parameters"]
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(document))

    assert "petId" in linter(broken)
