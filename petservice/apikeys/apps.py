from django.apps import AppConfig


class APIKeysConfig(AppConfig):
    name = "petservice.apikeys"
    verbose_name = "API keys"
