"""The answers to usual requests, in the words and forms of Django's views."""

import itertools
import logging
from collections.abc import Awaitable, Callable
from time import time
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.db import connection
from rest_framework.exceptions import NotAuthenticated, NotFound, ValidationError

from pets.fields import OPTIONAL_TEXTS, SHOWN, new_pet_id
from pets.serializers import CreatePetRequestSerializer, shown
from pets.views import unknown_pet
from petservice.api.errors import MESSAGES, envelope
from petservice.api.readiness import readiness
from petservice.api.viewsets import location
from petservice.apikeys import authentication, keys, permissions, usage
from petservice.fastpath.usual import Operation, UsualRequest, usual
from petservice.monitoring.counters import count
from petservice.monitoring.database_calls import database_call, kind_of_error
from petservice.monitoring.logs import request_id
from store.services import all_counts

logger = logging.getLogger(__name__)

# Each creation of this number with an Idempotency-Key goes to Django, which deletes expired records.
_DELETION_INTERVAL = 250

# The status, headers and body of a response.
Response = tuple[int, list[tuple[bytes, bytes]], bytes]

_checked = CreatePetRequestSerializer().run_validation


class Answer(NamedTuple):
    """The parts of a response that differ between usual requests; `content` becomes JSON."""

    status: int
    content: Any
    # The primary key of a valid API key.
    key_id: int | None = None
    headers: dict[str, str] = {}  # never changed


class FastPath:
    """The fast path of one worker process, which must create it before its event loop runs."""

    def __init__(self) -> None:
        if connection.vendor == "sqlite":
            from petservice.fastpath.sqlite import SQLite as Database
        else:
            from petservice.fastpath.postgresql import PostgreSQL as Database  # type: ignore[assignment]
        self._database = Database()
        self._keyed_creations = itertools.count(1)

    async def respond(self, scope: Any, receive: Callable[[], Awaitable[bytes]]) -> Response | None:
        """Return the response to a usual request, or None, and record it.

        The scope is one of petservice.server.messages. What is received of the body is added to it.
        """
        request = usual(scope)
        if request is None or (readiness.pending_migrations != 0 and request.operation is not Operation.HEALTH):
            return None
        # Before the body, because a client that leaves or is too slow is recorded too.
        scope.request_id, scope.address = request.id, request.address
        while request.body_bytes and (part := await receive()):
            scope.body += part
        request_id.set(request.id)  # for all log lines of this task, also gunicorn's
        try:
            answer = await self._answer(request, scope.body)
            if answer is None:
                return None
            content = orjson.dumps(answer.content)  # fails if another program wrote a name that is no text
        except Exception as error:
            # During an outage of the database, each request fails, and its traceback says nothing more.
            is_unknown = kind_of_error(error) in ("constraint", "other")
            logger.error("%s failed: %s", request.url, error, exc_info=is_unknown)
            answer = Answer(500, envelope(500, MESSAGES[500]))
            content = orjson.dumps(answer.content)
        scope.fast_path_operation = request.operation
        scope.route = "/v1/pets/{petId}" if request.operation is Operation.PET else request.path
        if answer.key_id is not None:
            scope.key_prefix = keys.prefix(request.key or "")
            usage.recorder.count(answer.key_id, answer.status, time(), request.address)
        headers = [
            *((name.encode(), value.encode("latin-1")) for name, value in answer.headers.items()),
            (b"Content-Type", b"application/json"),
            (b"Cache-Control", b"no-store"),
            (b"X-Content-Type-Options", b"nosniff"),
            (b"X-Request-ID", request.id.encode()),
            (b"Content-Length", str(len(content)).encode()),
        ]
        return answer.status, headers, content

    async def _answer(self, request: UsualRequest, body: bytes) -> Answer | None:
        """Return the answer, or None if Django has to answer."""
        operation, key = request.operation, request.key
        if operation is Operation.HEALTH:
            return Answer(200, {"status": "ok"})
        if key is None:
            return _unauthorized(permissions.KEY_IS_REQUIRED, NotAuthenticated.default_code)
        if operation is Operation.CREATE:
            return await self._create(request, key, body)
        with database_call("fast_path"):
            found = await self._database.find(key, request)
        if found is None:
            return _unknown_key(key)
        key_id, rows = found
        if rows is None:
            return None
        if operation is Operation.INVENTORY:
            return Answer(200, all_counts(rows), key_id)
        if operation is Operation.PETS:
            pets, headers = request.page.part(rows, request.url)
            return Answer(200, [*map(shown, pets)], key_id, headers)
        if rows:
            return Answer(200, shown(rows[0]), key_id)
        count("refusals", NotFound.default_code)
        return Answer(404, envelope(404, unknown_pet(request.pet_id)), key_id)

    async def _create(self, request: UsualRequest, key: str, body: bytes) -> Answer | None:
        try:
            fields = _checked(orjson.loads(body))
        except (orjson.JSONDecodeError, ValidationError):
            return None
        pet: dict[str, Any] = {"id": new_pet_id()} | dict.fromkeys(OPTIONAL_TEXTS) | fields
        if request.idempotency_key is not None and next(self._keyed_creations) % _DELETION_INTERVAL == 0:
            return None
        with database_call("fast_path"):
            created = await self._database.create(key, pet, request.idempotency_key)
        if created is None:
            return _unknown_key(key)
        key_id, is_new = created
        if not is_new:
            return None
        if request.idempotency_key is not None:
            count("idempotent_requests", "new")
        headers = {"Location": location(request.url, pet["id"])}
        return Answer(201, shown([pet[name] for name in SHOWN]), key_id, headers)


def _unknown_key(key: str) -> Answer | None:
    """Return the refusal of a key without a record, or None if it is one of another environment."""
    if keys.environment_of(key) in (None, settings.ENVIRONMENT):
        return _unauthorized(authentication.UNKNOWN, authentication.UNKNOWN_KEY)
    return None


def _unauthorized(message: str, reason: str) -> Answer:
    count("refusals", reason)
    return Answer(401, envelope(401, message), headers={"WWW-Authenticate": authentication.CHALLENGE})
