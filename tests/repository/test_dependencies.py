"""Every licence of the lock file is allowed. tests/running/test_package.py compares its pins with the ranges."""

import pytest

from tests.repository.dependencies import LOCK, PROJECT, installed, licences

pytestmark = pytest.mark.once


def test_every_licence_is_allowed() -> None:
    allowed = {*PROJECT["tool"]["petservice"]["allowed-licences"]}

    disallowed = {name: licences(package) - allowed for name, package in installed().items()}

    assert {name: names for name, names in disallowed.items() if names} == {}, (
        "replace these packages, or allow their licences in pyproject.toml, [tool.petservice]"
    )


def test_the_lock_file_leaves_the_registry_to_the_machine() -> None:
    lines = LOCK.read_text().splitlines()

    assert [line for line in lines if "://" in line or line.lstrip().startswith(("--index", "--extra", "--find"))] == []
