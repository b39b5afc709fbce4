"""Each program can start, because nothing else imports most of its modules."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.service import ROOT

pytestmark = pytest.mark.once

PROGRAMS = [path for path in Path(__file__).parent.rglob("*.py") if '__name__ == "__main__"' in path.read_text()]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_program_has_all_that_it_imports(path: Path) -> None:
    import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
