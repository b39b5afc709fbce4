"""The request limit of an API key."""

import logging
from functools import cache

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from petservice.api.errors import RequestError

logger = logging.getLogger(__name__)


class RequestsPerMinute(BaseThrottle):
    """A throttle that allows each key its limit of requests in any minute, and any number without a limit."""

    def allow_request(self, request: Request, view: object) -> bool:
        """Return True, or raise RequestError. A rejected request does not count towards the limit."""
        # Staff in the browsable API have no key.
        limit: int | None = getattr(request.auth, "requests_per_minute", None)
        if limit is not None and not settings.REDIS_URL:
            _log_missing_redis()
        elif limit is not None:
            # Imported only here, because many services have no Redis and need no Redis client.
            from petservice.apikeys.request_counter import counter

            client = request.auth
            # The prefix makes the name unique, because another service may use the same Redis.
            name = f"{client.prefix}:{client.id}"  # type: ignore[union-attr]  # the stubs know tokens only
            if wait := counter(settings.REDIS_URL).seconds_to_wait(name, limit):
                raise RequestError(
                    429,
                    f"Rate limit of {limit} requests per minute exceeded. Retry after the number of seconds in the "
                    "Retry-After header.",
                    code="rate_limit",
                    wait=wait,
                )
        return True


@cache  # log it once per process
def _log_missing_redis() -> None:
    logger.warning("There are API keys with a limit, but REDIS_URL is not set: their limits are not enforced.")
