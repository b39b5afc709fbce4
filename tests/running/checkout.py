"""A clean checkout: the files of the repository without what a build or a run has left."""

import shutil
import subprocess
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
