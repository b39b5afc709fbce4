"""Clients whose keys have a limit of requests."""

from django.test import Client

from petservice.apikeys.models import APIKey
from tests.redis_server import RedisServer

AWAY = "Redis is unavailable, so requests are let through whatever the limit of their API key"


def client_with(**fields: object) -> Client:
    """A client of the API with a new key."""
    return Client(headers={"X-API-Key": APIKey.objects.create_key(name="Acme", **fields)[1]})


def statuses(client: Client, number: int) -> list[int]:
    """Of so many requests, one after the other."""
    return [client.get("/v1/store/inventory").status_code for _ in range(number)]


def let_time_pass(server: RedisServer, seconds: float) -> None:
    """Move all that Redis remembers into the past, or with fewer than no seconds into the future."""
    for name in server.client.scan_iter():
        moments = [int(moment) - int(seconds * 1_000_000) for moment in server.client.lrange(name, 0, -1)]
        server.client.delete(name)
        server.client.rpush(name, *moments)
