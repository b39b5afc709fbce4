from django.apps import AppConfig
from django.conf import settings
from django.core.signals import request_finished


class APIKeysConfig(AppConfig):
    name = "petservice.apikeys"
    label = "apikeys"
    verbose_name = "API keys"

    def ready(self) -> None:
        from petservice.apikeys import schema, usage  # noqa: F401  # schema registers the security scheme

        request_finished.connect(usage.record_use, dispatch_uid="apikeys.record_use")
        if settings.REDIS_URL:
            # Once, before the workers begin, rather than in each while a request waits.
            from petservice.apikeys import request_counter  # noqa: F401
