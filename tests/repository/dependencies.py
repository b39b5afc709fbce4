"""The packages that the service runs with; `python -m tests.repository.dependencies` lists them with their licences."""

import re
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = ROOT / "petservice" / "deploy" / "requirements.txt"


def direct() -> list[Requirement]:
    """Return the service's own dependencies with their ranges, as pyproject.toml has them."""
    return [Requirement(line) for line in PROJECT["project"]["dependencies"]]


def locked() -> dict[str, Requirement]:
    """Return the pin of each package in the lock file, by name."""
    lines = re.findall(r"^\w.*(?= \\$)", LOCK.read_text(), re.MULTILINE)
    return {canonicalize_name(pin.name): pin for pin in map(Requirement, lines)}


def installed() -> dict[str, Distribution]:
    """Return the packages of the lock file by name, as they are installed here."""
    return {name: distribution(name) for name, pin in locked().items() if not pin.marker or pin.marker.evaluate()}


def licences(package: Distribution) -> set[str]:
    """Return the names of the package's licences, as the package gives them."""
    metadata = package.metadata
    classifiers = {line for line in metadata.get_all("Classifier", []) if line.startswith("License :: ")}
    if classifiers and not metadata["License-Expression"]:
        return {line.rpartition(" :: ")[2] for line in classifiers}
    expression = metadata["License-Expression"] or metadata["License"] or "unknown"
    return {name.strip("()") for name in re.split(" AND | OR ", expression)}


if __name__ == "__main__":
    for name, package in sorted(installed().items()):
        print(f"{name:<26}{package.version:<16}{', '.join(sorted(licences(package)))}")
