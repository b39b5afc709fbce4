"""How much memory a program takes."""

import subprocess
import sys
from pathlib import Path

# A process begins with the peak of the one that started it, so that must be a small one.
_MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(command: list[str], *, cwd: Path, env: dict[str, str]) -> tuple[int, str]:
    """The peak of a program that succeeds, in KiB; and what it writes to standard error."""
    measure = [sys.executable, "-c", _MEASURE, *command]
    ended = subprocess.run(measure, cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return int(ended.stdout), ended.stderr
