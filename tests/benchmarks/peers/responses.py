"""Check that every server gives the same responses before it is measured."""

from collections import Counter
from typing import Any
from uuid import uuid4

import httpx

from pets.models import Pet
from tests.benchmarks.databases import Database, connected
from tests.benchmarks.peers.servers import Access

_DOG = {"name": "Rex", "tag": "dog"}


def wrong_responses(base_url: str, access: Access, database: Database, *, idempotent: bool) -> list[str]:
    """Return a line for each response that violates the API's contract. Only the server may change the database."""
    wrong: list[str] = []
    with connected(database) as connection:
        rows = connection.execute("SELECT CAST(id AS text), name, tag, status FROM pets_pet ORDER BY id").fetchall()
    everything = [{"id": pet, "name": name} | ({"tag": tag} if tag else {}) for pet, name, tag, _ in rows]
    inventory = dict.fromkeys(Pet.Status.values, 0) | Counter(status for *_, status in rows)

    def check(method: str, path: str, expected: tuple[int, Any], **options: Any) -> None:
        """Send a request, and compare the status and the body."""
        response = client.request(method, path, **options)
        if (found := (response.status_code, response.json())) != expected:
            wrong.append(f"{method} {path} {options}: {found}, not {expected}")

    with httpx.Client(
        base_url=f"{base_url}/v1", headers={"X-API-Key": access.key}, trust_env=False, timeout=30
    ) as client:
        check("GET", "/health", (200, {"status": "ok"}))
        for query, number in {"": 100, "?limit=3": 3}.items():
            check("GET", f"/pets{query}", (200, everything[:number]))
        for pet in everything[:20]:
            check("GET", f"/pets/{pet['id']}", (200, pet))
        check("GET", "/store/inventory", (200, inventory))
        for key in ("pets_test_unknown", access.revoked_key):
            if (status := client.get("/pets", headers={"X-API-Key": key}).status_code) != 401:
                wrong.append(f"GET /pets with the key {key}: {status}, not 401")

        headers = {"Idempotency-Key": str(uuid4())}
        created = client.post("/pets", json=_DOG, headers=headers).json()
        check("GET", f"/pets/{created.get('id')}", (200, {"id": created.get("id"), **_DOG}))
        if idempotent:
            check("POST", "/pets", (201, created), json=_DOG, headers=headers)
        inventory["available"] += 1
        check("GET", "/store/inventory", (200, inventory))
    return wrong
