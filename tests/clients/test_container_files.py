"""Linters find no problem in the files for containers."""

import pytest

from tests.clients.tools import run
from tests.service import ROOT

DEPLOY = ROOT / "petservice" / "deploy"


@pytest.mark.parametrize(
    "command", [["hadolint", DEPLOY / "Containerfile"], ["dclint", "--max-warnings", "0", DEPLOY / "compose.yaml"]]
)
def test_linters_accept_the_containers(command: list[str]) -> None:
    result = run(*command)

    assert result.returncode == 0, result.stdout + result.stderr
