"""The packages that the service runs with; `python -m tests.repository.dependencies` lists them with their licences."""

import re
import tomllib
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement

from tests.documents import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = ROOT / "petservice" / "deploy" / "requirements.txt"


def installed() -> dict[str, Distribution]:
    """Return the packages of the lock file by name, as they are installed here."""
    pins = map(Requirement, re.findall(r"^\w.*(?= \\$)", LOCK.read_text(), re.MULTILINE))
    return {pin.name: distribution(pin.name) for pin in pins if not pin.marker or pin.marker.evaluate()}


def licences(package: Distribution) -> set[str]:
    """Return the names of the package's licences, as the package gives them."""
    metadata = package.metadata
    classifiers = {line for line in metadata.get_all("Classifier", []) if line.startswith("License :: ")}
    expression = metadata.get("License-Expression")
    if classifiers and not expression:
        return {line.rpartition(" :: ")[2] for line in classifiers}
    expression = expression or metadata.get("License") or "unknown"
    return {name.strip("()") for name in re.split(" AND | OR ", expression)}


if __name__ == "__main__":
    for name, package in sorted(installed().items()):
        print(f"{name:<26}{package.version:<16}{', '.join(sorted(licences(package)))}")
