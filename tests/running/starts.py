"""Starts of `manage.py serve` that end with a message."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.processes import start
from tests.service import SERVE, free_port


def refusal(folder: Path, *, serve: Sequence[str] = SERVE, bind: str = "", **variables: str) -> str:
    """Start `serve` with only these environment variables, fail unless it refuses to run, and return its output."""
    environment = {"PATH": os.environ["PATH"], "PETSERVICE_DATA_DIR": str(folder)} | variables
    environment |= {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    with tempfile.NamedTemporaryFile("r") as file:
        command = [*serve, "--bind", bind or f"127.0.0.1:{free_port()}"]
        status = start(command, environment, Path(file.name), Path(file.name)).wait(timeout=60)
        output = file.read()
    assert status != 0, output
    assert "Traceback" not in output
    return output
