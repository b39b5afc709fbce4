"""`python -m tests.server.run_with_endpoints OPTIONS` runs the service with the endpoints for tests.

The options are those of gunicorn.
"""

import gc
import os
import shlex
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import petservice.wsgi  # noqa: F401  # sets up Django, as `serve` does before it starts the server
from petservice.__main__ import COLLECTION_THRESHOLD
from petservice.server import run


class EndpointsServer(run.WebServer):
    """A server like that of `serve`, for the application with the endpoints for tests."""

    def load(self) -> Any:
        from tests.server.endpoints import application

        return application


def stop_the_first_process_at_its_fork(forked: Path) -> None:
    """Send SIGTERM to a new process in its fork, unless this file exists."""
    if not forked.exists():
        forked.touch()
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    gc.set_threshold(COLLECTION_THRESHOLD)  # as every command does
    os.environ["GUNICORN_CMD_ARGS"] = shlex.join(sys.argv[1:])
    server = EndpointsServer(None)
    if forked := os.environ.get("TEST_FORKED"):
        os.register_at_fork(after_in_child=partial(stop_the_first_process_at_its_fork, Path(forked)))
    server.run()
