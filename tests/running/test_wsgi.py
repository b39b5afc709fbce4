"""A server other than `serve` on the same application."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.once


def test_a_bad_configuration_is_refused_without_serve_too() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SECRET_KEY"}

    started = subprocess.run(
        [sys.executable, "-c", "import petservice.wsgi"],
        cwd=ROOT,
        env=environment | {"PETSERVICE_ENVIRONMENT": "live"},
        capture_output=True,
        text=True,
    )

    assert started.returncode != 0
    assert "SECRET_KEY is required in live" in started.stderr
