"""Exact counting of the requests of each key in Redis, for all workers and machines together.

No period of 60 seconds contains more allowed requests than the limit, and a request below the limit is never rejected.
For each key, Redis keeps a list with the timestamps of the last allowed requests, as many as the limit.
One script reads and writes the list. Redis runs it atomically, with the clock of the Redis server.
"""

import logging
import math
import time
from functools import cache
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from petservice.monitoring.counters import count

logger = logging.getLogger(__name__)

# Seconds until Redis counts as unavailable, for a connection and for a response. Redis usually needs less than a
# thousandth of that. A shorter timeout would not enforce limits whenever the machine is busy.
RESPONSE_TIMEOUT = 0.5
# Seconds after a failure during which requests are allowed without asking Redis.
RETRY_INTERVAL = 1.0
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


class RequestCounter:
    """A counter of one process, which asks Redis only now and then while Redis is unavailable."""

    def __init__(self, url: str) -> None:
        """Open no connection yet."""
        self.redis = Redis.from_url(
            url,
            socket_timeout=RESPONSE_TIMEOUT,
            socket_connect_timeout=RESPONSE_TIMEOUT,
            protocol=2,  # version 3 has no advantage here and costs one more round trip per connection
        )
        self.script: Any = self.redis.register_script(_SCRIPT)
        # When Redis is asked again, on the monotonic clock, or 0 while it is available.
        self._paused_until = 0.0

    def seconds_to_wait(self, name: str, limit: int) -> int:
        """Count a request of a key, and return 0 if it is allowed, otherwise the seconds to wait, rounded up.

        The request is allowed if Redis is unavailable.
        """
        now = time.monotonic()
        if now < self._paused_until:
            return 0
        was_unavailable = self._paused_until > 0
        if was_unavailable:  # only this request probes Redis, and the others do not wait
            self._paused_until = now + RESPONSE_TIMEOUT + RETRY_INTERVAL
        try:
            microseconds: int = self.script(keys=[f"petservice:requests:{name}"], args=[limit])
        except (RedisError, OSError) as error:
            self._paused_until = time.monotonic() + RETRY_INTERVAL
            count("redis_failures", "count")
            if not was_unavailable:
                logger.warning("Redis is unavailable; rate limits are not enforced: %s", error)
            return 0
        if was_unavailable:
            self._paused_until = 0.0
            logger.warning("Redis is available again; rate limits are enforced again.")
        return math.ceil(microseconds / 1_000_000)


# Returns the counter of this process for the URL of a Redis.
counter = cache(RequestCounter)
