"""The answers to usual requests, in the words and forms of Django's views."""

import itertools
import logging
from collections.abc import Awaitable, Callable
from time import time
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.db import connection
from django.urls import resolve
from rest_framework.exceptions import NotAuthenticated, NotFound, ValidationError

from pets.fields import OPTIONAL_TEXTS, SHOWN, new_pet_id
from pets.serializers import CreatePetRequestSerializer, shown
from pets.views import unknown_pet
from petservice.api.errors import envelope
from petservice.api.viewsets import location
from petservice.apikeys import authentication, keys, permissions, usage
from petservice.db.pending_migrations import pending_migrations
from petservice.fastpath.usual import INVENTORY, PETS, Operation, UsualRequest, usual
from petservice.middleware import REQUEST_ID, error_response_for
from petservice.monitoring.access_log import AccessRecord, shown_route
from petservice.monitoring.counters import count
from petservice.monitoring.database_calls import DatabaseCall
from petservice.monitoring.logs import request_id
from petservice.paths import HEALTH
from store.services import all_counts

logger = logging.getLogger(__name__)

# Each creation of this number with an Idempotency-Key goes to Django, which deletes expired records.
_DELETION_INTERVAL = 100

Message = dict[str, Any]
Receive = Callable[[], Awaitable[bytes]]
# The status, headers and body of a response.
Response = tuple[int, list[tuple[bytes, bytes]], bytes]

_checked = CreatePetRequestSerializer().run_validation
_HEALTHY = orjson.dumps({"status": "ok"})
# A path of each operation, whose route in the access log is that of Django's URL pattern.
_PATHS = {
    Operation.HEALTH: HEALTH,
    Operation.PET: f"{PETS}/00000000-0000-7000-8000-000000000000",
    Operation.PETS: PETS,
    Operation.CREATE: PETS,
    Operation.INVENTORY: INVENTORY,
}


class Answer(NamedTuple):
    """The parts of a response that differ between usual requests."""

    status: int
    content: bytes
    headers: dict[str, str] = {}  # never changed
    # The primary key of a valid API key.
    key_id: int | None = None


class FastPath:
    """The fast path of one worker process, which must create it before its event loop runs."""

    def __init__(self) -> None:
        if connection.vendor == "sqlite":
            from petservice.fastpath.sqlite import SQLite as Database
        else:
            from petservice.fastpath.postgresql import PostgreSQL as Database  # type: ignore[assignment]
        self._database = Database()
        self._numbers = itertools.count(1)
        self._routes = {operation: shown_route(resolve(path).route) for operation, path in _PATHS.items()}

    def close(self) -> None:
        """Close the database connections. No request may follow."""
        self._database.close()

    async def respond(
        self, scope: Message, receive: Receive, record: AccessRecord | None
    ) -> tuple[Response | None, Receive]:
        """Return the response to a usual request, or None, and the function with which Django receives the body."""
        request = usual(scope)
        if request is None or (pending_migrations.may_exist and request.operation is not Operation.HEALTH):
            return None, receive
        body = b""
        if request.body_bytes:
            body, receive = await _received(receive)
        request_id.set(request.id)  # until the next request, so that gunicorn's log lines have the id as well
        try:
            answer = await self._answer(request, body)
        except Exception as error:
            logger.exception("%s failed: %s", request.url, error)
            answer = Answer(500, error_response_for(500).content)
        if answer is None:
            return None, receive
        count("fast_path_requests", request.operation.name.lower())
        scope[REQUEST_ID] = request.id
        if record is not None:
            record.client_is(request.id, request.peer, request.forwarded_for)
            record.route = self._routes[request.operation]
            record.key_prefix = None if answer.key_id is None else keys.prefix(request.key or "")
        if answer.key_id is not None:
            usage.recorder.count(
                answer.key_id, answer.status, time(), peer=request.peer, forwarded_for=request.forwarded_for
            )
        return _response(request.id, answer), receive

    async def _answer(self, request: UsualRequest, body: bytes) -> Answer | None:
        """Return the answer, or None if Django has to answer."""
        if request.operation is Operation.HEALTH:
            return Answer(200, _HEALTHY)
        if request.key is None:
            return _unauthorized(permissions.KEY_IS_REQUIRED, NotAuthenticated.default_code)
        if request.operation is Operation.CREATE:
            return await self._create(request, request.key, body)
        return await self._read(request, request.key)

    async def _read(self, request: UsualRequest, key: str) -> Answer | None:
        statements = self._database.statements
        if request.operation is Operation.PET:
            statement = statements.pet(request.pet_id)
        elif request.operation is Operation.PETS:
            statement = statements.page(request.page)
        else:
            statement = statements.inventory()
        with DatabaseCall("fast_path"):
            found = await self._database.read(key, statement)
        if found is None:
            return _unknown_key(key)
        if not found.is_usable:
            return None
        if request.operation is Operation.INVENTORY:
            return Answer(200, orjson.dumps(all_counts(found.rows)), key_id=found.key_id)
        if request.operation is Operation.PETS:
            pets, more = request.page.split(found.rows)
            headers = {"Link": request.page.next_link(request.url, pets[-1][0])} if more else {}
            return Answer(200, orjson.dumps([*map(shown, pets)]), headers, found.key_id)
        if found.rows:
            return Answer(200, orjson.dumps(shown(found.rows[0])), key_id=found.key_id)
        count("refusals", NotFound.default_code)
        return Answer(404, orjson.dumps(envelope(404, unknown_pet(request.pet_id))), key_id=found.key_id)

    async def _create(self, request: UsualRequest, key: str, body: bytes) -> Answer | None:
        try:
            sent = orjson.loads(body)
            fields = _checked(sent) if isinstance(sent, dict) and len(body) == request.body_bytes else None
        except (orjson.JSONDecodeError, ValidationError):
            fields = None
        if fields is None:
            return None
        pet: dict[str, Any] = {"id": new_pet_id()} | dict.fromkeys(OPTIONAL_TEXTS) | fields
        record = None
        if request.idempotency_key is not None:
            if next(self._numbers) % _DELETION_INTERVAL == 0:
                return None
            texts = {name: pet[name] for name in ("name", *OPTIONAL_TEXTS)}
            record = {"key": request.idempotency_key, "pet_id": pet["id"], **texts}
        with DatabaseCall("fast_path"):
            created = await self._database.create(key, pet, record)
        if created is None:
            return _unknown_key(key)
        key_id, is_new = created
        if not is_new:
            return None
        if record is not None:
            count("idempotent_requests", "new")
        content = orjson.dumps(shown([pet[name] for name in SHOWN]))
        return Answer(201, content, {"Location": location(request.url, pet["id"])}, key_id)


def _unknown_key(key: str) -> Answer | None:
    """Return the refusal of a key without a record, or None if it is one of another environment."""
    if keys.environment_of(key) in (None, settings.ENVIRONMENT):
        return _unauthorized(authentication.UNKNOWN, authentication.UNKNOWN_KEY)
    return None


def _unauthorized(message: str, reason: str) -> Answer:
    count("refusals", reason)
    return Answer(401, orjson.dumps(envelope(401, message)), {"WWW-Authenticate": authentication.CHALLENGE})


async def _received(receive: Receive) -> tuple[bytes, Receive]:
    """Return a whole body, and a function that receives it again."""
    parts: list[bytes] = []
    while part := await receive():
        parts.append(part)
    again = iter(parts)

    async def receive_again() -> bytes:
        return next(again, b"")

    return b"".join(parts), receive_again


def _response(request_id: str, answer: Answer) -> Response:
    headers = [
        *((name.encode(), value.encode("latin-1")) for name, value in answer.headers.items()),
        (b"Content-Type", b"application/json"),
        (b"Cache-Control", b"no-store"),
        (b"X-Content-Type-Options", b"nosniff"),
        (b"X-Request-ID", request_id.encode()),
        (b"Content-Length", str(len(answer.content)).encode()),
    ]
    return answer.status, headers, answer.content
