"""Starts of `manage.py serve` that end with a message."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.service import ROOT, SERVE, free_port


def refusal(folder: Path, *, serve: Sequence[str] = SERVE, bind: str = "", **variables: str) -> str:
    """Start `serve` with only these environment variables, fail unless it refuses to run, and return its output."""
    command = [sys.executable, *serve, "--bind", bind or f"127.0.0.1:{free_port()}"]
    environment = {"PATH": os.environ["PATH"], "PETSERVICE_DATA_DIR": str(folder)} | variables
    environment |= {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    output = ended.stdout + ended.stderr
    assert ended.returncode != 0, output
    assert "Traceback" not in output
    return output
