"""Every licence of the lock file is allowed. tests/running/test_package.py compares its pins with the ranges."""

import re
import tomllib
from importlib.metadata import Distribution, distribution

import pytest
from packaging.requirements import Requirement

from tests.documents import ROOT

pytestmark = pytest.mark.once

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = ROOT / "petservice" / "deploy" / "requirements.txt"


def licences(package: Distribution) -> set[str]:
    """Return the names of the package's licences, as the package gives them."""
    metadata = package.metadata
    classifiers = {line for line in metadata.get_all("Classifier", []) if line.startswith("License :: ")}
    expression = metadata.get("License-Expression")
    if classifiers and not expression:
        return {line.rpartition(" :: ")[2] for line in classifiers}
    expression = expression or metadata.get("License") or "unknown"
    return {name.strip("()") for name in re.split(" AND | OR ", expression)}


def test_every_licence_is_allowed() -> None:
    allowed = {*PROJECT["tool"]["petservice"]["allowed-licences"]}

    pins = map(Requirement, re.findall(r"^\w.*(?= \\$)", LOCK.read_text(), re.MULTILINE))
    installed = [pin.name for pin in pins if not pin.marker or pin.marker.evaluate()]
    disallowed = {name: licences(distribution(name)) - allowed for name in installed}

    assert {name: names for name, names in disallowed.items() if names} == {}, (
        "replace these packages, or allow their licences in pyproject.toml, [tool.petservice]"
    )


def test_the_lock_file_leaves_the_registry_to_the_machine() -> None:
    lines = LOCK.read_text().splitlines()

    assert [line for line in lines if "://" in line or line.lstrip().startswith(("--index", "--extra", "--find"))] == []
