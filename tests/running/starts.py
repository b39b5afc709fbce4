"""Starts of `manage.py serve` that end with a message."""

import os
import subprocess
import sys
from pathlib import Path

from tests.service import ROOT, SERVE, free_port


def refusal(folder: Path, **variables: str) -> str:
    """What `serve` says when it is started with `variables` and nothing else, and ends for it."""
    command = [sys.executable, *SERVE, "--bind", f"127.0.0.1:{free_port()}"]
    environment = {"PATH": os.environ["PATH"], "PETSERVICE_DATA_DIR": str(folder)} | variables
    environment |= {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    said = ended.stdout + ended.stderr
    assert ended.returncode != 0, said
    assert "Traceback" not in said
    return said
