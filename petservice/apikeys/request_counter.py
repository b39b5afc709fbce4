"""Exact counting of the requests of each key in Redis, for all workers and machines together.

No period of 60 seconds contains more allowed requests than the limit, and a request below the limit is never rejected.
For each key, Redis keeps a list with the timestamps of the last allowed requests, as many as the limit.
One script reads and writes the list. Redis runs it atomically, with the clock of the Redis server.

Simpler counters are not exact. A counter per minute of the clock allows twice the limit around the full minute,
and so does a token bucket. The library `limits` uses the clocks of the machines, which differ.
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

# Seconds until Redis counts as unavailable, including the lookup of its host name. Redis usually needs less than a
# thousandth of that. A shorter timeout would not enforce limits whenever the machine is busy.
RESPONSE_TIMEOUT = 0.5
# Seconds after a failure during which requests are allowed without asking Redis.
RETRY_INTERVAL = 1.0
# Seconds between two log lines that report that Redis is unavailable.
LOG_INTERVAL = 10.0
# Connections to Redis per event loop. A worker process has one loop for requests on the loop's own thread, and one for
# requests on other threads. A few are enough, because a request uses one for less than a millisecond.
MAX_CONNECTIONS = 4

# KEYS[1] is the list of timestamps of the key's last allowed requests, in microseconds, newest first. ARGV[1] is the
# limit. The script returns 0 if the request is allowed, otherwise the microseconds until the next one will be.
_SCRIPT = """
local minute = 60 * 1000 * 1000
local time = redis.call('TIME')
local now = time[1] * 1000 * 1000 + time[2]
local limit = tonumber(ARGV[1])
local earlier = redis.call('LINDEX', KEYS[1], limit - 1)
local wait = earlier and earlier + minute - now or 0
-- A wait of more than a minute means that the clock was set back, so the request is allowed.
if wait > 0 and wait <= minute then
    return wait
end
redis.call('LPUSH', KEYS[1], string.format('%.0f', now))
redis.call('LTRIM', KEYS[1], 0, limit - 1)
-- One second longer than needed, because Redis expires keys in whole milliseconds.
redis.call('EXPIRE', KEYS[1], 61)
return 0
"""


def connection_pool(url: str) -> ConnectionPool:
    """Return a pool that opens connections to Redis when they are needed.

    Raises ValueError or TypeError for an invalid URL.
    """
    pool = ConnectionPool.from_url(
        url,
        max_connections=MAX_CONNECTIONS,
        # RESPONSE_TIMEOUT limits all steps together, and a failed request is not retried.
        socket_timeout=None,
        socket_connect_timeout=None,
        retry=Retry(NoBackoff(), 0),
        protocol=2,  # version 3 has no advantage here and costs one more round trip per connection
    )
    pool.make_connection()  # type: ignore[no-untyped-call]  # opens no connection, but validates the options of the URL
    return pool


def seconds_to_wait(url: str, name: str, limit: int) -> int:
    """Count a request of a key, and return 0 if it is allowed, otherwise the seconds to wait, rounded up.

    The request is allowed if Redis is unavailable.
    """
    current = waiter.get()
    if current is None:
        loop = _background_loop()
        return asyncio.run_coroutine_threadsafe(_counter(loop, url).seconds_to_wait(name, limit), loop).result()
    counter = _counter(current.loop, url)
    if counter.is_paused:
        return 0
    # The task has an empty context, because it must not use the waiter of this call.
    counting = current.loop.create_task(counter.seconds_to_wait(name, limit), context=Context())
    current.wait(lambda resume: counting.add_done_callback(lambda _: resume(), context=Context()))
    return counting.result()


@cache
def _background_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that counts requests from threads. It runs on a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="request-counter", daemon=True).start()
    return loop


@cache
def _counter(loop: asyncio.AbstractEventLoop, url: str) -> "_Counter":
    # One counter per loop, because a connection works only on the loop that opened it.
    return _Counter(url)


class _Counter:
    """A counter on one event loop, which asks Redis only now and then while Redis is unavailable."""

    def __init__(self, url: str) -> None:
        self.connections = connection_pool(url)
        self._script: Any = Redis(connection_pool=self.connections).register_script(_SCRIPT)
        self._free_connections = asyncio.Semaphore(MAX_CONNECTIONS)
        self._is_unavailable = False
        self._paused_until = -math.inf
        self._logged_at = -math.inf

    @property
    def is_paused(self) -> bool:
        """Return whether Redis failed so recently that requests are allowed without asking it."""
        return time.monotonic() < self._paused_until

    async def seconds_to_wait(self, name: str, limit: int) -> int:
        async with self._free_connections:
            if self.is_paused:
                return 0
            if self._is_unavailable:  # only this request probes Redis, and the others do not wait
                self._paused_until = time.monotonic() + RESPONSE_TIMEOUT + RETRY_INTERVAL
            try:
                async with asyncio.timeout(RESPONSE_TIMEOUT):
                    microseconds: int = await self._script(keys=[f"petservice:requests:{name}"], args=[limit])
            except (RedisError, OSError) as error:
                self._record_failure(error)
                return 0
        if self._is_unavailable:
            self._is_unavailable, self._paused_until = False, -math.inf
            logger.warning("Redis is available again; rate limits are enforced again.")
        return math.ceil(microseconds / 1_000_000)

    def _record_failure(self, error: Exception) -> None:
        now = time.monotonic()
        self._is_unavailable, self._paused_until = True, now + RETRY_INTERVAL
        if now >= self._logged_at + LOG_INTERVAL:
            self._logged_at = now
            reason = str(error) or f"no response within {RESPONSE_TIMEOUT} seconds"
            logger.warning("Redis is unavailable; rate limits are not enforced: %s", reason)
