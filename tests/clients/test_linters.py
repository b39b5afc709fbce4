"""Linters find no problem in the OpenAPI document, the files for containers and the dashboard of Grafana.

Their configuration lists the rules that are waived, with reasons.
"""

import shutil
from pathlib import Path

import pytest
import vacuum

from tests.clients.tools import DOCUMENT, HERE, run
from tests.service import ROOT

DEPLOY = ROOT / "petservice" / "deploy"


@pytest.mark.parametrize(
    "command",
    [
        ["spectral", "lint", "--fail-severity", "hint", "--ruleset", HERE / ".spectral.yaml", DOCUMENT],
        ["redocly", "lint", "--config", HERE / "redocly.yaml", DOCUMENT],
        ["openapi-spec-validator", DOCUMENT],
        ["hadolint", DEPLOY / "Containerfile"],
        ["dclint", "--max-warnings", "0", DEPLOY / "compose.yaml"],
    ],
    ids=lambda command: command[0],
)
def test_linter_finds_no_problem(command: list[str | Path]) -> None:
    result = run(*command)

    assert result.returncode == 0, result.stdout + result.stderr


# Rules of vacuum that one place breaks for a reason. The rules that are waived everywhere are in vacuum.yaml.
WAIVED = {
    # The example is in the body's schema, because the OpenAPI Generator for Java warns of one outside the schema.
    ("oas3-missing-example", "$.paths['/pets'].post.requestBody.content['application/json']"),
}


def test_vacuum_finds_no_problem_in_the_document() -> None:
    found = vacuum.lint(DOCUMENT.read_bytes(), ruleset=(HERE / "vacuum.yaml").read_bytes())

    assert [one for one in found if (one.rule_id, one.path) not in WAIVED] == []


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
