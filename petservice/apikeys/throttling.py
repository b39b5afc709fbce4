"""How many requests in any minute a key may make."""

import logging
from functools import cache

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from petservice.api.errors import TooManyRequests

logger = logging.getLogger(__name__)


class RequestsPerMinute(BaseThrottle):
    """Lets a key make as many requests in any minute as its record says, all if that says nothing."""

    def allow_request(self, request: Request, view: object) -> bool:
        """True; raises TooManyRequests for a request too many, which does not count."""
        # Staff (the browsable API) have no key.
        limit: int | None = getattr(request.auth, "requests_per_minute", None)
        if limit is not None and not settings.REDIS_URL:
            _tell_of_no_redis()
        elif limit is not None:
            # Only now, since few keys have a limit and many services no Redis.
            from petservice.apikeys.request_counter import seconds_to_wait

            client = request.auth
            # The id alone would not do: another service may count in the same Redis.
            wait = seconds_to_wait(settings.REDIS_URL, f"{client.prefix}:{client.id}", limit)  # type: ignore[union-attr]  # the stubs know tokens only
            if wait:
                raise TooManyRequests(
                    f"Rate limit of {limit} requests per minute exceeded. Retry after the number of seconds in the "
                    "Retry-After header.",
                    wait=wait,
                )
        return True


@cache  # once in a process
def _tell_of_no_redis() -> None:
    logger.warning("There are API keys with a limit, but REDIS_URL is not set: their limits are not enforced.")
