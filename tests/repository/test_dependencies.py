"""The lock file has a version from each range of the project, and every licence is allowed."""

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository.dependencies import LOCK, PROJECT, direct, installed, licences, locked

pytestmark = pytest.mark.once

UPDATE = "update the lock file: uv pip compile --upgrade pyproject.toml -o petservice/deploy/requirements.txt"


def test_every_licence_is_allowed() -> None:
    allowed = {*PROJECT["tool"]["petservice"]["allowed-licences"]}

    disallowed = {name: licences(package) - allowed for name, package in installed().items()}

    assert {name: names for name, names in disallowed.items() if names} == {}, (
        "replace these packages, or allow their licences in pyproject.toml, [tool.petservice]"
    )


def test_the_lock_file_satisfies_the_ranges_of_the_project() -> None:
    """`pip --require-hashes` refuses a lock file without a hash or without a package that another one requires."""
    pins = locked()

    outside = [str(one) for one in direct() if not satisfied(one, pins.get(canonicalize_name(one.name)))]

    assert outside == [], UPDATE


def satisfied(required: Requirement, pin: Requirement | None) -> bool:
    """Return whether exactly one version that is in the range is pinned, for a marker that holds here."""
    if pin is None or (pin.marker and not pin.marker.evaluate()):
        return False
    ((operator, version),) = ((one.operator, one.version) for one in pin.specifier)
    return operator == "==" and required.specifier.contains(version, prereleases=True)


def test_the_lock_file_leaves_the_registry_to_the_machine() -> None:
    lines = LOCK.read_text().splitlines()

    assert [line for line in lines if "://" in line or line.lstrip().startswith(("--index", "--extra", "--find"))] == []
