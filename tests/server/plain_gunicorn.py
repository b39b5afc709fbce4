"""The WSGI application with the endpoints for tests, for gunicorn without `serve`."""

import petservice.wsgi  # noqa: F401  # sets up Django
from tests.server.endpoints import application  # noqa: F401
