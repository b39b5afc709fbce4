"""`python -m tests.server.run_with_endpoints`: the service with the endpoints for tests, by gunicorn's own options."""

import os
import shlex
import sys
from typing import Any

import petservice.wsgi  # noqa: F401  # sets Django up, as `serve` does before it becomes the server
from petservice.server import run


class EndpointsServer(run._WebServer):
    """The server of `serve`, for another application."""

    def load(self) -> Any:
        from tests.server.endpoints import application

        return application


if __name__ == "__main__":
    os.environ["GUNICORN_CMD_ARGS"] = shlex.join(sys.argv[1:])
    EndpointsServer(None).run()
