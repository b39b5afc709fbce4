"""Linters find no problem in the OpenAPI document, the files for containers and the dashboard of Grafana.

Their configuration lists the rules that are waived, with reasons. A changed document has a higher version.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import vacuum

from tests.clients.tools import DOCUMENT, HERE, PUBLISHED, run
from tests.service import ROOT

pytestmark = pytest.mark.clients

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


# A change that breaks clients needs a new major version, and an addition a new minor version.


def without_words(part: Any, *, are_names: bool = False) -> Any:
    """Return this part of a document with empty descriptions and without examples, which break no client.

    `redocly diff` pairs parameters by their similarity, so a new description can make one look like another.
    """
    if isinstance(part, list):
        return [without_words(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: "" if key == "description" and not are_names else without_words(value, are_names=key == "properties")
        for key, value in part.items()
        if key != "example" or are_names
    }


def undeclared(base: Path, revision: Path) -> str:
    """Return the changes since `base` for which the version of `revision` is too low, or an empty string.

    `redocly diff` rates the changes. Its own option --check-version would require a new version for each changed word.
    """
    command = ["redocly", "diff", base, revision, "--config", HERE / "redocly.yaml"]
    result = run(*command, "--fail-on", "none", "--format", "json")
    if result.returncode:
        return result.stderr
    report = json.loads(result.stdout)
    parts = {"major": 1, "minor": 2}.get(report.get("bump"), 0)
    had, has = ([int(it) for it in report["infoVersions"][side].split(".")[:parts]] for side in ("base", "revision"))
    if parts == 0 or has > had:
        return ""
    return "\n".join(
        f"{change['impact']}: {change['kind']} {change['path']} {' '.join(it['message'] for it in change['verdicts'])}"
        for change in report["changes"]
        if change["impact"] != "patch"
    )


# Corrections of the published document that changed no response, so a client of either document works. Remove them at
# the next release.
CORRECTIONS = {
    r"\\x85": "",  # Ruby rejects this escape in the pattern of texts
    "^[ -~]+$": "^[ -~]{1,255}$",  # the same lengths as before, for programs that make a value from the pattern alone
    # The error of an exceeded rate limit had a type of its own, with the only code that the others lacked.
    "schemas/TooManyRequestsResponse": "schemas/ErrorResponse",
    '"not_found", ': '"not_found", "too_many_requests", ',
}


def test_version_is_high_enough_for_the_changes_since_the_release(tmp_path: Path) -> None:
    published, document = (json.dumps(without_words(json.loads(path.read_text()))) for path in (PUBLISHED, DOCUMENT))
    for published_text, text in CORRECTIONS.items():
        assert published_text in published
        published = published.replace(published_text, text)
    paths = [tmp_path / "published.json", tmp_path / "openapi.json"]
    for path, text in zip(paths, (published, document), strict=True):
        path.write_text(text)

    assert undeclared(*paths) == "", "give the document a new version, or take the change back"
