"""Run the linters, the comparison and the client generators as commands."""

import os
import subprocess
import sys
from pathlib import Path

from tests.described import DOCUMENT

HERE = Path(__file__).parent
PUBLISHED = DOCUMENT.with_name("published.json")
# An option of Java: the optimising compiler does not pay in a short run.
QUICK_START = "-XX:TieredStopAtLevel=1"


def run(*command: str | Path, folder: Path = HERE) -> subprocess.CompletedProcess[str]:
    """Run a command, either an installed tool or a program of the machine, and return the result."""
    tools = [Path(sys.executable).parent, HERE / "node_modules" / ".bin"]
    environment = os.environ | {
        "PATH": os.pathsep.join([*map(str, tools), os.environ["PATH"]]),
        "JAVA_OPTS": QUICK_START,
    }
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
