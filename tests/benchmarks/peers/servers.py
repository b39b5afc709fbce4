"""The servers of the comparison: how each is installed, filled and started."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.benchmarks.peers.databases import Database
from tests.benchmarks.peers.pets import Access, Pet, as_csv, peer_access
from tests.service import ROOT, free_port, responds
from tests.waiting import wait_until

HERE = Path(__file__).parent
CORES = os.cpu_count() or 1
SERVICE = "this service"
BASELINE = "bare WSGI"
# Seconds until a server must respond. It is long because some frameworks compile modules at the first start.
_START_TIMEOUT = 60
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "petservice-peers"
# The last file of an installation.
_COMPLETE = "complete"
# Prefixes of variables that configure the service and must not reach a server from the shell.
_SETTINGS = ("PETSERVICE_", "DJANGO_", "GUNICORN_", "TLS_", "DEBUG", "REDIS_", "WEB_", "ALLOWED_", "CSRF_", "PYTHON")
_GUNICORN = "-m gunicorn --bind 127.0.0.1:{port} --log-level warning"


@dataclass(frozen=True)
class Server:
    """A program with the API, a peer or a version of the service, which `command` starts in `folder`."""

    name: str
    folder: Path
    command: str
    python: str = sys.executable
    is_service: bool = False

    @property
    def template(self) -> str:
        """Return the name of the filled database whose copies this server gets."""
        return "service_" + hashlib.sha256(self.name.encode()).hexdigest()[:8] if self.is_service else "peers"

    @property
    def manifest(self) -> Path | None:
        """Return the file that lists the packages of a peer, or None if it needs only those of the service."""
        manifests = (self.folder / name for name in ("requirements.txt", "package.json"))
        return next((manifest for manifest in manifests if manifest.exists()), None)


# The numbers of worker processes are those that gunicorn's documentation recommends, 2 x cores + 1, and one for each
# core under uvicorn and Node.js. The bare callable does little but compute, so it has one more than there are cores.
PEERS = [
    Server(
        BASELINE,
        HERE / "bare_wsgi",
        f"{{python}} {_GUNICORN} --workers {CORES + 1} --http-parser fast --worker-tmp-dir /dev/shm app:app",
    ),
    Server(
        "Django REST framework",
        HERE / "django_rest_framework",
        f"{{python}} {_GUNICORN} --workers {2 * CORES + 1} wsgi",
    ),
    Server(
        "FastAPI",
        HERE / "fastapi",
        f"{{python}} -m uvicorn main:app --host 127.0.0.1 --port {{port}} --workers {CORES} --no-access-log "
        "--log-level warning",
    ),
    Server("Fastify (Node.js)", HERE / "fastify", "node server.js {port} " + str(CORES)),
]


def service(name: str = SERVICE, folder: Path = ROOT) -> Server:
    """Return the service in a checkout."""
    return Server(name, folder, "{python} manage.py serve --bind 127.0.0.1:{port}", is_service=True)


@contextmanager
def earlier_service(revision: str) -> Iterator[Server]:
    """Provide the service at a git revision, in a temporary worktree, with the packages that are installed here."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", checkout, revision], check=True)
        try:
            yield service(revision, checkout)
        finally:
            subprocess.run([*git, "remove", "--force", checkout], check=True)


def install(server: Server) -> Server:
    """Install the packages of a peer into a cached folder, if it needs more than those of the service."""
    if server.manifest is None:
        return server
    place = _place(server.manifest)
    if not is_installed(server):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        _install(server.manifest, place)
        (place / _COMPLETE).touch()
    return replace(server, python=str(place / "bin" / "python"))


def is_installed(server: Server) -> bool:
    """Return whether a peer has the packages that it needs."""
    return server.manifest is None or (_place(server.manifest) / _COMPLETE).exists()


def _place(manifest: Path) -> Path:
    return _CACHE / f"{manifest.parent.name}-{hashlib.sha256(manifest.read_bytes()).hexdigest()[:12]}"


def _install(manifest: Path, place: Path) -> None:
    if manifest.name == "package.json":
        shutil.copy(manifest, place)
        command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"]
    else:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        command = ["bin/python", "-m", "pip", "install", "--quiet", "--requirement", str(manifest)]
    subprocess.run(command, cwd=place, check=True, stdout=sys.stderr)


def fill(server: Server, database: Database, pets: list[Pet], folder: Path) -> Access:
    """Create and fill the database that copies are made of, and return its API keys."""
    url = database.create(server.template)
    if not server.is_service:
        database.fill(server.template, pets)
        return peer_access()

    def manage(*arguments: str, text: str | None = None) -> str:
        command = [server.python, "manage.py", *arguments]
        environment = _environment(server, url, folder)
        ended = subprocess.run(
            command, cwd=server.folder, env=environment, input=text, stdout=subprocess.PIPE, text=True, check=True
        )
        return ended.stdout.strip()

    manage("migrate", "--verbosity", "0")
    manage("import_pets", "--format", "csv", "-", text=as_csv(pets))
    access = Access(manage("create_api_key", "Benchmark"), manage("create_api_key", "Revoked"))
    manage("revoke_api_key", access.revoked_key)
    return access


@contextmanager
def running(server: Server, url: str, folder: Path) -> Iterator[tuple[str, int]]:
    """Start a server with the database at `url`, yield its base URL and its process id, and stop it at the end."""
    port = free_port()
    command = server.command.format(python=server.python, port=port).split()
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            command, cwd=server.folder, env=_environment(server, url, folder), stdout=log, stderr=log
        )
        base_url = f"http://127.0.0.1:{port}"
        try:
            wait_until(lambda: process.poll() is not None or responds(base_url), _START_TIMEOUT)
            if process.poll() is not None:
                raise RuntimeError(f"{server.name} does not start:\n{Path(log.name).read_text()}")
            yield base_url, process.pid
        finally:
            process.terminate()
            process.wait(timeout=40)


def _environment(server: Server, url: str, folder: Path) -> dict[str, str]:
    """Return the environment variables of a server."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
    environment |= {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(folder), "SECRET_KEY": "of-a-benchmark"}
    return environment | {"NODE_ENV": "production", "NODE_PATH": str(Path(server.python).parents[1] / "node_modules")}
