"""The lock file has everything that the service runs with, and every licence is allowed."""

import pytest
from packaging.utils import canonicalize_name

from tests.repository.dependencies import LOCK, PROJECT, direct, installed, licences, locked, requirements

pytestmark = pytest.mark.once

UPDATE = "update the lock file: uv pip compile --upgrade pyproject.toml -o petservice/deploy/requirements.txt"


def test_every_licence_is_allowed() -> None:
    allowed = {*PROJECT["tool"]["petservice"]["allowed-licences"]}

    disallowed = {name: licences(package) - allowed for name, package in installed().items()}

    assert {name: names for name, names in disallowed.items() if names} == {}, (
        "replace these packages, or allow their licences in pyproject.toml, [tool.petservice]"
    )


def test_the_lock_file_satisfies_the_ranges_of_the_project() -> None:
    pins = locked()

    outside = [str(one) for one in direct() if not satisfied(one, pins)]

    assert outside == [], UPDATE


def test_the_lock_file_satisfies_what_its_packages_require() -> None:
    pins = locked()
    extras = {canonicalize_name(one.name): one.extras for one in direct()}

    outside = [
        f"{name} requires {required}"
        for name, package in installed().items()
        for required in requirements(package, extras.get(name, set()))
        if not satisfied(required, pins)
    ]

    assert outside == [], UPDATE


def satisfied(required, pins) -> bool:
    """Return whether exactly one version that is in the range is pinned, for a marker that holds here."""
    pin, _ = pins.get(canonicalize_name(required.name), (None, []))
    if pin is None or (pin.marker and not pin.marker.evaluate()):
        return False
    ((operator, version),) = ((one.operator, one.version) for one in pin.specifier)
    return operator == "==" and required.specifier.contains(version, prereleases=True)


def test_every_package_in_the_lock_file_has_its_hashes() -> None:
    pins = locked()

    assert len(pins) >= len(installed())
    assert [name for name, (_, hashes) in pins.items() if not hashes] == []


def test_the_lock_file_leaves_the_registry_to_the_machine() -> None:
    lines = LOCK.read_text().splitlines()

    assert [line for line in lines if "://" in line or line.lstrip().startswith(("--index", "--extra", "--find"))] == []
