"""`python -m tests --changed` runs the tests that belong to the changed files."""

from pathlib import Path

import pytest

from tests.changed import paths_of_tests

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("petservice/journal/retention.py", ["tests/journal"]),
        ("petservice/backoffice/templates/backoffice/index.html", ["tests/backoffice"]),
        ("tests/journal/test_logins.py", ["tests/journal/test_logins.py"]),
        ("tests/journal/test_that_is_gone.py", []),
        ("tests/service.py", ["tests"]),
        ("petservice/docs/api.md", ["tests/repository"]),
        ("pyproject.toml", ["tests/repository"]),
        ("petservice/static/petservice/tokens.css", ["tests/contract", "tests/db", "tests/running"]),
    ],
)
def test_a_file_has_the_tests_of_its_folder(file: str, tests: list[str]) -> None:
    assert paths_of_tests([Path(file)]) == tests


def test_a_module_has_the_tests_that_import_it_as_well() -> None:
    found = paths_of_tests([Path("pets/services.py")])

    assert {"tests/pets", "tests/contract/test_idempotency.py"} <= {*found}
    assert not any(path.startswith("tests/pets/") for path in found)
