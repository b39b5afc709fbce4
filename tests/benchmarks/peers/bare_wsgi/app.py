"""Pets without a framework: one WSGI callable, SQL written by hand, and orjson."""

import hashlib
import os
import threading

import orjson
from uuid_utils import uuid7

URL = os.environ["DATABASE_URL"]
MAX_LIMIT = 1000
REASONS = {200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}
COUNTS = "SELECT status, count(*) FROM pet GROUP BY status"
_thread = threading.local()

if URL.startswith("sqlite:"):
    import sqlite3

    MARK = "?"

    def connect():
        connection = sqlite3.connect(URL.removeprefix("sqlite:///"), isolation_level=None, timeout=5)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection.execute

else:
    import psycopg

    MARK = "%s"

    def connect():
        return psycopg.connect(URL, autocommit=True, prepare_threshold=0).cursor().execute


KEY = f"SELECT 1 FROM api_key WHERE digest = {MARK} AND revoked_at IS NULL"
ONE = f"SELECT id, name, tag FROM pet WHERE id = {MARK}"
LIST = f"SELECT id, name, tag FROM pet ORDER BY id LIMIT {MARK}"
INSERT = f"INSERT INTO pet (id, name, tag, status) VALUES ({MARK}, {MARK}, {MARK}, 'available')"


def app(environ, start_response):
    status, body = respond(environ)
    content = orjson.dumps(body)
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(content)))]
    start_response(f"{status} {REASONS[status]}", headers)
    return (content,)


def respond(environ):
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    if method == "GET" and path == "/v1/health":
        return 200, {"status": "ok"}
    execute = vars(_thread).get("execute")
    if execute is None:
        execute = _thread.execute = connect()
    key = environ.get("HTTP_X_API_KEY")
    if not key or execute(KEY, (hashlib.sha256(key.encode()).hexdigest(),)).fetchone() is None:
        return 401, {"error": "A valid API key is required."}
    if method == "GET" and path.startswith("/v1/pets/"):
        row = execute(ONE, (path.removeprefix("/v1/pets/"),)).fetchone()
        if row is not None:
            return 200, pet(*row)
    elif method == "GET" and path == "/v1/pets":
        # Not parse_qs, which costs a hundredth of the request.
        parts = environ["QUERY_STRING"].split("&")
        limit = ["100", *(part.removeprefix("limit=") for part in parts if part.startswith("limit="))][-1]
        if not limit.isdecimal():
            return 400, {"error": "limit must be a whole number from 0."}
        return 200, [pet(*row) for row in execute(LIST, (min(int(limit), MAX_LIMIT),)).fetchall()]
    elif method == "POST" and path == "/v1/pets":
        return create(execute, environ)
    elif method == "GET" and path == "/v1/store/inventory":
        return 200, {"available": 0, "pending": 0, "sold": 0} | dict(execute(COUNTS).fetchall())
    return 404, {"error": "There is no such resource."}


def pet(id, name, tag):
    return {"id": id, "name": name} if tag is None else {"id": id, "name": name, "tag": tag}


def create(execute, environ):
    try:
        data = orjson.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
        name, tag = data["name"], data.get("tag")
    except (ValueError, KeyError, TypeError, AttributeError):
        return 400, {"error": "The body must be a JSON object with a name."}
    if not isinstance(name, str) or not name or not (tag is None or isinstance(tag, str)):
        return 400, {"error": "name and tag must be strings."}
    id = str(uuid7())
    execute(INSERT, (id, name, tag))
    return 201, pet(id, name, tag)
