"""Check that every server gives the same responses before it is measured."""

from collections import Counter
from typing import Any
from uuid import uuid4

import httpx

from pets.models import Pet
from tests.benchmarks.databases import Database, connected
from tests.benchmarks.peers.servers import Access

_UNKNOWN_PET = "/pets/00000000-0000-7000-8000-000000000000"
_DOG = {"name": "Rex", "tag": "dog"}


def wrong_responses(base_url: str, access: Access, database: Database, *, idempotent: bool) -> list[str]:
    """Return a line for each response that violates the API's contract. Only the server may change the database."""
    wrong: list[str] = []
    with connected(database) as connection:
        rows = connection.execute("SELECT CAST(id AS text), name, tag, status FROM pets_pet ORDER BY id").fetchall()
    everything = [{"id": pet, "name": name} | ({"tag": tag} if tag else {}) for pet, name, tag, _ in rows]
    inventory = dict.fromkeys(Pet.Status.values, 0) | Counter(status for *_, status in rows)

    def check(method: str, path: str, expected: tuple[int, Any], **options: Any) -> Any:
        """Send a request, compare the status and the body, or the error code of an error, and return the body."""
        response = client.request(method, path, **options)
        body = response.json()
        found = response.status_code, body["error"]["code"] if response.is_error else body
        if found != expected:
            wrong.append(f"{method} {path} {options}: {found}, not {expected}")
        return body

    with httpx.Client(
        base_url=f"{base_url}/v1", headers={"X-API-Key": access.key}, trust_env=False, timeout=30
    ) as client:
        check("GET", "/health", (200, {"status": "ok"}))
        for query, number in {"": 100, "?limit=100": 100, "?limit=3": 3, "?limit=0": 0}.items():
            check("GET", f"/pets{query}", (200, everything[:number]))
        for pet in everything[:20]:
            check("GET", f"/pets/{pet['id']}", (200, pet))
        check("GET", "/store/inventory", (200, inventory))

        check("GET", _UNKNOWN_PET, (404, "not_found"))
        check("GET", "/pets?limit=abc", (400, "bad_request"))
        for content in ('{"tag": "dog"}', '{"name":', '{"name": ""}', "[]"):
            headers = {"Content-Type": "application/json"}
            check("POST", "/pets", (400, "bad_request"), content=content, headers=headers)
        for key in ("", "pets_test_unknown", access.revoked_key):
            for path in ("/pets", _UNKNOWN_PET, "/store/inventory"):
                check("GET", path, (401, "unauthorized"), headers={"X-API-Key": key})
            check("POST", "/pets", (401, "unauthorized"), headers={"X-API-Key": key}, json=_DOG)

        created = client.post("/pets", json=_DOG)
        pet = created.json()
        if (created.status_code, pet) != (201, {"id": pet.get("id"), **_DOG}):
            wrong.append(f"POST {_DOG}: {created.status_code} {pet}")
        check("GET", f"/pets/{pet.get('id')}", (200, pet))
        inventory["available"] += 1
        check("GET", "/store/inventory", (200, inventory))
        if idempotent:
            headers = {"Idempotency-Key": str(uuid4())}
            first = client.post("/pets", json=_DOG, headers=headers).json()
            check("POST", "/pets", (201, first), json=_DOG, headers=headers)
    return wrong
