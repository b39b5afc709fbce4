"""Clients whose keys have a request limit."""

from django.test import Client

from petservice.apikeys.models import APIKey
from tests.redis_server import RedisServer

UNAVAILABLE = "Redis is unavailable; rate limits are not enforced"


def client_with(**fields: object) -> Client:
    """Return an API client with a new key that has these fields."""
    return Client(headers={"X-API-Key": APIKey.objects.create_key(name="Acme", **fields)[1]})


def statuses(client: Client, number: int) -> list[int]:
    """Send requests one after the other, and return their statuses."""
    return [client.get("/v1/store/inventory").status_code for _ in range(number)]


def shift_timestamps(server: RedisServer, seconds: float) -> None:
    """Move all timestamps in Redis into the past, as if this time had passed, or into the future if it is negative."""
    for name in server.client.scan_iter():
        timestamps = [int(timestamp) - int(seconds * 1_000_000) for timestamp in server.client.lrange(name, 0, -1)]
        server.client.delete(name)
        server.client.rpush(name, *timestamps)
