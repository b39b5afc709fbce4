"""The dashboard file conforms to the types that Grafana publishes."""

import shutil
from pathlib import Path

from tests.clients.tools import HERE, run
from tests.service import ROOT

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
