"""The service with a further path, /limits, which returns PostgreSQL's timeouts for the request's connection."""

import json
from collections.abc import Callable
from typing import Any

from django.db import connection

from petservice.wsgi import application as service

NAMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
    if environ["PATH_INFO"] != "/limits":
        return service(environ, start_response)
    with connection.cursor() as cursor:
        limits = [cursor.execute(f"SHOW {name}").fetchone()[0] for name in NAMES]
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(limits).encode()]
