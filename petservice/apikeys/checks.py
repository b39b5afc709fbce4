"""System checks of what API keys need."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error


def check_redis_url(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    """E009 when REDIS_URL is set and is none; says nothing of it, since there may be a password in it."""
    if not settings.REDIS_URL:
        return []
    from petservice.apikeys.request_counter import connection_pool  # which loads the client, that few need

    try:
        connection_pool(settings.REDIS_URL)
    except (ValueError, TypeError):
        text = (
            "REDIS_URL cannot be read: write for example REDIS_URL=redis://:password@redis.example.com:6379/0, "
            "rediss://... for TLS, or unix:///run/redis/redis-server.sock; what may follow a ? is redis-py's"
        )
        return [Error(text, id="petservice.E009")]
    return []
