"""The dashboard file, held against the types that Grafana publishes of what it loads."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.tools import HERE, run
from tests.service import ROOT

DASHBOARD = json.loads((ROOT / "petservice" / "monitoring" / "dashboard.json").read_text())


def compiled(dashboard: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """TypeScript's judgement: a literal must have all that its type asks for, and nothing that it does not know."""
    shutil.copy(HERE / "tsconfig.json", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    (folder / "dashboard.ts").write_text(
        'import type { Dashboard } from "@grafana/schema";\n'
        f"export const dashboard: Dashboard = {json.dumps(dashboard, indent=1)};\n"
    )
    return run("tsc", "--project", folder)


def test_it_is_what_grafana_takes_for_a_dashboard(tmp_path: Path) -> None:
    judged = compiled(DASHBOARD, tmp_path)

    assert judged.returncode == 0, judged.stdout


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"refresh": 30}, id="a number for a text"),
        pytest.param({"titel": "Pets"}, id="an unknown name"),
        pytest.param({"panels": [{"title": "of no type"}]}, id="a panel of no type"),
    ],
)
def test_what_is_none_is_told(tmp_path: Path, broken: dict[str, Any]) -> None:
    judged = compiled(DASHBOARD | broken, tmp_path)

    assert "dashboard.ts" in judged.stdout
    assert judged.returncode != 0
