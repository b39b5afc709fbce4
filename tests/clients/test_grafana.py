"""The dashboard file conforms to the types that Grafana publishes."""

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
    """Compile the dashboard as a literal of Grafana's type, and return the result of the TypeScript compiler.

    The literal must have all required properties of the type and no unknown ones.
    """
    shutil.copy(HERE / "tsconfig.json", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    (folder / "dashboard.ts").write_text(
        'import type { Dashboard } from "@grafana/schema";\n'
        f"export const dashboard: Dashboard = {json.dumps(dashboard, indent=1)};\n"
    )
    return run("tsc", "--project", folder)


def test_dashboard_has_the_type_of_grafana(tmp_path: Path) -> None:
    result = compiled(DASHBOARD, tmp_path)

    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"refresh": 30}, id="a number instead of a string"),
        pytest.param({"titel": "Pets"}, id="an unknown property"),
        pytest.param({"panels": [{"title": "of no type"}]}, id="a panel without a type"),
    ],
)
def test_invalid_dashboard_is_rejected(tmp_path: Path, broken: dict[str, Any]) -> None:
    result = compiled(DASHBOARD | broken, tmp_path)

    assert "dashboard.ts" in result.stdout
    assert result.returncode != 0
