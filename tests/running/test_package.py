"""The wheel: it has every file of the service, and runs in an environment that has nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from petservice import __version__
from tests.documents import block
from tests.running.checkout import copy_checkout, tracked, unpack_pinned_packages
from tests.service import manage

pytestmark = [pytest.mark.long, pytest.mark.installation]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a clean checkout, so that nothing is left of an earlier build."""
    checkout = tmp_path_factory.mktemp("checkout")
    copy_checkout(checkout)
    (checkout / ".venv").symlink_to(sys.prefix)  # building needs only the pip of any environment
    subprocess.run(["bash", "-euc", block("deployment.md", "wheel-build")], cwd=checkout, check=True)
    (built,) = (checkout / "dist").iterdir()
    return built


@pytest.fixture(scope="module")
def folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and its pins in a virtual environment, installed as deployment.md says."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copy(wheel, folder)
    unpack_pinned_packages(folder / ".venv")
    subprocess.run(["bash", "-euc", block("deployment.md", "wheel-install-pinned")], cwd=folder, check=True)
    return folder


def run(folder: Path, *command: str, home: Path) -> str:
    """Run a program of the installed environment; its standard output."""
    program, *arguments = command
    line = [folder / ".venv" / "bin" / program, *arguments]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    ended = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_wheel_has_every_file_of_the_service(wheel: Path) -> None:
    expected = {name for name in tracked() if name.startswith(("petservice/", "pets/", "store/"))}

    with ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert packed == expected


def test_the_wheel_brings_the_pins_of_what_it_requires(folder: Path, tmp_path: Path) -> None:
    run(folder, "pip", "check", home=tmp_path)
    assert run(folder, "petservice", "--version", home=tmp_path) == f"petservice {__version__}\n"


def test_the_shorter_installation_is_content_with_the_pins(folder: Path) -> None:
    def installed() -> set[str]:
        return {path.name for path in folder.glob(".venv/lib/*/site-packages/*.dist-info")}

    pinned = installed()
    (ours,) = folder.glob(".venv/lib/*/site-packages/petservice-*.dist-info")
    shutil.rmtree(ours)

    subprocess.run(["bash", "-euc", block("deployment.md", "wheel-install")], cwd=folder, check=True)

    assert installed() == pinned


def test_the_command_does_what_manage_py_does(folder: Path, tmp_path: Path) -> None:
    ours = manage("help", "--commands", PETSERVICE_DATA_DIR=str(tmp_path)).stdout.split()

    assert run(folder, "python", "-m", "petservice", "help", "--commands", home=tmp_path).split() == ours != []
