"""Counts the requests of each key in Redis, exactly, for all workers and machines together.

Exact means: whatever minute one looks at, no more requests than the limit were let through in it, and none is refused
while there was room. So the moments of those let through are kept, as many as the limit, in a list for each key, and
looked at and written by one script, which Redis runs alone and by its own clock. A counter for each minute of the clock
would let twice the limit through around its turn, and so would a bucket that fills up again; the machines' own clocks,
which the library `limits` takes the moments from, differ.
"""

import asyncio
import logging
import math
import threading
import time
from contextvars import Context
from functools import cache
from typing import Any

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from petservice.db.waiting import waiter

logger = logging.getLogger(__name__)

# Seconds that Redis has for its answer, from the look-up of its name on. It takes less than a thousandth of that;
# but if a busy machine is taken for a Redis that is unavailable, requests are let through that should not be.
RESPONSE_TIMEOUT = 0.5
# Seconds after a failure in which Redis is not asked: requests are let through at once.
RETRY_INTERVAL = 1.0
# Seconds between two lines in the log that say that Redis is unavailable.
LOG_INTERVAL = 10.0
# Connections of an event loop; a worker process has one loop for requests on it and one for requests on threads. A
# request holds one for less than a thousandth of a second.
CONNECTIONS = 4

# KEYS[1] holds the moments of the key's last requests in microseconds, newest first; ARGV[1] is the limit. Returns the
# microseconds until a request will be let through, 0 if this one is.
_SCRIPT = """
local minute = 60 * 1000 * 1000
local time = redis.call('TIME')
local now = time[1] * 1000 * 1000 + time[2]
local limit = tonumber(ARGV[1])
local earlier = redis.call('LINDEX', KEYS[1], limit - 1)
local wait = earlier and earlier + minute - now or 0
-- Longer than a minute: the clock has been set back since.
if wait > 0 and wait <= minute then
    return wait
end
redis.call('LPUSH', KEYS[1], string.format('%.0f', now))
redis.call('LTRIM', KEYS[1], 0, limit - 1)
-- A second longer than needed, because it expires by whole milliseconds.
redis.call('EXPIRE', KEYS[1], 61)
return 0
"""


def connection_pool(url: str) -> ConnectionPool:
    """Connections to the Redis that `url` names, made when they are needed; raises ValueError or TypeError for a URL
    that cannot be used."""
    pool = ConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        # One deadline holds for all of it, and trying again is left to the next request.
        socket_timeout=None,
        socket_connect_timeout=None,
        retry=Retry(NoBackoff(), 0),
        protocol=2,  # the newer one brings nothing here, and costs a question at each connection
    )
    pool.make_connection()  # type: ignore[no-untyped-call]  # it connects to nothing yet, but reads the URL's options
    return pool


def seconds_to_wait(url: str, name: str, limit: int) -> int:
    """Counts a request of the key `name`, or says after how many whole seconds one will be let through, 0 for now.

    Without an answer from Redis it is let through.
    """
    current = waiter.get()
    if current is None:
        loop = _background_loop()
        return asyncio.run_coroutine_threadsafe(_counter(loop, url).seconds_to_wait(name, limit), loop).result()
    counter = _counter(current.loop, url)
    if counter.is_paused:
        return 0
    # In a context of its own: the task is not the call, whose waiter it must not use.
    counting = current.loop.create_task(counter.seconds_to_wait(name, limit), context=Context())
    current.wait(lambda resume: counting.add_done_callback(lambda _: resume(), context=Context()))
    return counting.result()


@cache
def _background_loop() -> asyncio.AbstractEventLoop:
    """For requests that are answered on a thread: an event loop on another."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="request-counter", daemon=True).start()
    return loop


@cache
def _counter(loop: asyncio.AbstractEventLoop, url: str) -> "_Counter":
    # By the loop, on which alone its connections can be used.
    return _Counter(url)


class _Counter:
    """Asks Redis on one event loop, and while Redis is unavailable does so seldom."""

    def __init__(self, url: str) -> None:
        self.connections = connection_pool(url)
        self._script: Any = Redis(connection_pool=self.connections).register_script(_SCRIPT)
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._is_unavailable = False
        self._paused_until = -math.inf
        self._logged_at = -math.inf

    @property
    def is_paused(self) -> bool:
        """Whether Redis was away a moment ago."""
        return time.monotonic() < self._paused_until

    async def seconds_to_wait(self, name: str, limit: int) -> int:
        async with self._room:
            if self.is_paused:
                return 0
            if self._is_unavailable:  # one request finds out whether it is back, and no other waits
                self._paused_until = time.monotonic() + RESPONSE_TIMEOUT + RETRY_INTERVAL
            try:
                async with asyncio.timeout(RESPONSE_TIMEOUT):
                    microseconds: int = await self._script(keys=[f"petservice:requests:{name}"], args=[limit])
            except (RedisError, OSError) as error:
                self._note_failure(error)
                return 0
        if self._is_unavailable:
            self._is_unavailable, self._paused_until = False, -math.inf
            logger.warning("Redis is available again: the limits of API keys hold again.")
        return math.ceil(microseconds / 1_000_000)

    def _note_failure(self, error: Exception) -> None:
        now = time.monotonic()
        self._is_unavailable, self._paused_until = True, now + RETRY_INTERVAL
        if now >= self._logged_at + LOG_INTERVAL:
            self._logged_at = now
            what = str(error) or f"no answer within {RESPONSE_TIMEOUT} seconds"
            logger.warning(
                "Redis is unavailable, so requests are let through whatever the limit of their API key: %s", what
            )
