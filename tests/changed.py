"""The tests that belong to the files that differ from the branch `main`, which `python -m tests --changed` runs."""

import re
import subprocess
from pathlib import Path

# Whose tests are in several folders, by the README of the tests.
TESTS_OF_PROJECT = ["tests/contract", "tests/db", "tests/running"]


def changed_files() -> list[Path]:
    """Return the files that differ from the last commit that is also on `main`, and the new files."""
    changed = _git("diff", "--name-only", "--merge-base", "main")
    return [Path(name) for name in [*changed, *_git("ls-files", "--others", "--exclude-standard")]]


def paths_of_tests(files: list[Path]) -> list[str]:
    """Return the paths of the tests of these files: the folder of the same name, and all tests that import the file."""
    found = {path for file in files for path in [*_mirrored(file), *_importing(file)]}
    return sorted(path for path in found if not any(str(parent) in found for parent in Path(path).parents))


def _mirrored(file: Path) -> list[str]:
    if file.parts[0] == "tests":
        return [str(file if file.name.startswith("test_") else file.parent)] if file.exists() else []
    if file.suffix == ".md" or len(file.parts) == 1:
        return ["tests/repository"]
    parts = file.parts[file.parts[0] == "petservice" : -1]
    folders = [Path("tests", *parts[:number]) for number in range(len(parts), 0, -1)]
    return next(([str(folder)] for folder in folders if folder.is_dir()), TESTS_OF_PROJECT)


def _importing(file: Path) -> list[str]:
    if file.suffix != ".py":
        return []
    module = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
    package, _, name = module.rpartition(".")
    imports = rf"^from ({module} import|{package} import (\([^)]*|.*)\b{name}\b)"
    tests = [test for test in Path("tests").rglob("test_*.py") if re.search(imports, test.read_text(), re.MULTILINE)]
    return [str(test) for test in tests]


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.split()
