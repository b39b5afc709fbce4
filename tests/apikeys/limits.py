"""Clients whose keys have a request limit."""

from django.test import Client

from petservice.apikeys.models import APIKey


def client_with(**fields: object) -> Client:
    """Return an API client with a new key that has these fields."""
    return Client(headers={"X-API-Key": APIKey.objects.create_key(name="Acme", **fields)[1]})


def statuses(client: Client, number: int) -> list[int]:
    """Send requests one after the other, and return their statuses."""
    return [client.get("/v1/store/inventory").status_code for _ in range(number)]
