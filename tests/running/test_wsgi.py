"""The application also runs under plain gunicorn, without `serve`.

tests/contract checks the whole contract with it.
"""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.service import GUNICORN, ROOT, Service


@pytest.mark.once
def test_invalid_configuration_is_rejected_without_serve() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SECRET_KEY"}
    command = [sys.executable, "-c", "import petservice.wsgi"]
    environment["PETSERVICE_ENVIRONMENT"] = "live"

    started = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert started.returncode != 0
    assert "SECRET_KEY is required in live" in started.stderr


@pytest.fixture(params=GUNICORN)
def gunicorn(request: pytest.FixtureRequest, plain_gunicorn: Callable[[str], Service]) -> Service:
    """Plain gunicorn with each of its workers, on the database of the shared service."""
    return plain_gunicorn(request.param)


def test_pages_and_their_files_are_served(gunicorn: Service) -> None:
    with gunicorn.client() as client:
        for address in ("/", "/docs", "/admin/login/", "/static/backoffice/admin.css"):
            response = client.get(address)
            assert response.status_code == 200
            assert response.headers["Content-Length"]
            assert "Transfer-Encoding" not in response.headers
