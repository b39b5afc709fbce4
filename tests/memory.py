"""Measure the memory of a program."""

import subprocess
import sys
from pathlib import Path

# A process inherits the peak of the process that started it, so a small process starts the measured one.
_MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(command: list[str], *, cwd: Path, env: dict[str, str]) -> tuple[int, str]:
    """Run a program that must succeed, and return its peak memory in KiB and its standard error."""
    measure = [sys.executable, "-c", _MEASURE, *command]
    ended = subprocess.run(measure, cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return int(ended.stdout), ended.stderr
