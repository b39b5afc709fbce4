from django.apps import AppConfig
from django.conf import settings
from django.core.checks import register


class APIKeysConfig(AppConfig):
    name = "petservice.apikeys"
    verbose_name = "API keys"

    def ready(self) -> None:
        from petservice.apikeys import checks

        register(checks.check_redis_url, "petservice")
        if settings.REDIS_URL:
            # Load the Redis client once, before the workers start, so that no request waits for it.
            from petservice.apikeys import request_counter  # noqa: F401
