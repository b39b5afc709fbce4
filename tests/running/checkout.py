"""What installations start from: the files of a clean checkout or of a revision, and the packages of the lock file."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.documents import ROOT


def tracked() -> list[str]:
    """Return the files of a clean checkout."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if (ROOT / name).exists()]


def copy_checkout(folder: Path) -> None:
    """Copy the files of a clean checkout into a folder."""
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def unpack_revision(revision: str, folder: Path) -> None:
    """Write the files of a git revision into a folder that does not exist yet."""
    archive = folder.with_suffix(".tar")
    subprocess.run(["git", "archive", "-o", archive, revision], cwd=ROOT, check=True)
    shutil.unpack_archive(archive, folder, filter="data")


def install_revision(revision: str, folder: Path) -> Path:
    """Unpack a git revision, install the packages of its lock file in an environment there, and return its Python."""
    unpack_revision(revision, folder)
    uv, python = [sys.executable, "-m", "uv"], folder / ".venv" / "bin" / "python"
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, folder / ".venv"], check=True)
    lock = folder / "petservice" / "deploy" / "requirements.txt"
    install = [*uv, "pip", "install", "-q", "--python", python, "--require-hashes", "-r", lock]
    subprocess.run(install, check=True)
    return python


def unpack_pinned_packages(environment: Path) -> None:
    """Put the packages of the lock file into a virtual environment that does not exist yet.

    uv unpacks them in a tenth of the time of pip, which then checks that they are what it was asked for.
    """
    target = environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    options = ["--python", sys.executable, "--target", target, "--require-hashes", "--no-deps"]
    lock = ROOT / "petservice" / "deploy" / "requirements.txt"
    subprocess.run([sys.executable, "-m", "uv", "pip", "install", "-q", *options, "-r", lock], check=True)
