"""Check the whole repository for what needs no tests: `python -m tests.check`.

It checks lint, format, types, the import contracts, and that no migration is missing. All run at the same time, and
their output appears if they fail.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKS = (
    "ruff check .",
    "ruff format --check .",
    "mypy",
    "lint-imports",
    "python manage.py makemigrations --check --dry-run",
)


def main() -> int:
    with tempfile.TemporaryDirectory() as data:
        environment = os.environ | {"PETSERVICE_DATA_DIR": data}
        running = [(check, _start(check, environment)) for check in CHECKS]
        outputs = [(check, process.communicate()[0], process.returncode) for check, process in running]
    for check, output, status in outputs:
        print(f"{'failed' if status else 'passed'}: {check}\n{output if status else ''}", end="")
    return int(any(status for *_, status in outputs))


def _start(check: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    program, *arguments = check.split()
    command = [Path(sys.executable).with_name(program), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


if __name__ == "__main__":
    sys.exit(main())
