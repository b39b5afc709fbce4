"""System checks for the settings of API keys."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error


def check_redis_url(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    """Report E009 if REDIS_URL is not a valid URL, without repeating the URL, which can contain a password."""
    if not settings.REDIS_URL:
        return []
    from petservice.apikeys.request_counter import RequestCounter  # loads the Redis client, so only if needed

    try:
        RequestCounter(settings.REDIS_URL)
    except (ValueError, TypeError):
        text = (
            "REDIS_URL cannot be read: write for example REDIS_URL=redis://:password@redis.example.com:6379/0, "
            "rediss://... for TLS, or unix:///run/redis/redis-server.sock; the options after a ? are those of redis-py"
        )
        return [Error(text, id="petservice.E009")]
    return []
