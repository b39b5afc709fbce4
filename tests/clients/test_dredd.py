"""A client that fills in every parameter from the document succeeds, even if it repeats its requests."""

import json
import re
from pathlib import Path

from pets.models import Pet
from tests.clients.tools import DOCUMENT, run
from tests.service import Service


def test_requests_from_the_examples_succeed_and_can_be_repeated(service: Service, tmp_path: Path) -> None:
    document = json.loads(DOCUMENT.read_text())
    rex = document["components"]["schemas"]["Pet"]["example"]
    key, created = service.create_key(), Pet.objects.exclude(id=rex["id"]).filter(name=rex["name"])
    # Dredd expects every documented header, so there must be a next page, and the pet must have been created before.
    with service.models():
        Pet.objects.bulk_create([Pet(**rex), *(Pet(name="Tom", tag="cat") for _ in range(21))])
        before = created.count()
    (idempotency_key,) = document["paths"]["/pets"]["post"]["parameters"]
    with service.client(key) as client:
        body = document["components"]["schemas"]["CreatePetRequest"]["example"]
        headers = {"Idempotency-Key": idempotency_key["example"]}
        assert client.post("/v1/pets", json=body, headers=headers).status_code == 201

    for _ in range(2):
        assert dredd(without_errors(document, tmp_path), service, key) == ["pass"] * 5

    with service.models():
        assert created.count() == before + 1


def without_errors(document: dict, folder: Path) -> Path:
    """Write the document with successful responses only, and return the path of the file.

    Dredd sends one request for all responses of an operation, so only one response can match.
    """
    for methods in document["paths"].values():
        for operation in methods.values():
            operation["responses"] = {
                status: response for status, response in operation["responses"].items() if status.startswith("2")
            }
    path = folder / "openapi.json"
    path.write_text(json.dumps(document))
    return path


def dredd(document: Path, service: Service, key: str) -> list[str]:
    """Return "pass" for each of the requests, and fail with Dredd's report if one has another response."""
    result = run("dredd", document, f"{service.url}/v1", "--header", f"X-API-Key: {key}", "--no-color")
    assert result.returncode == 0, result.stdout + result.stderr
    return re.findall(r"^(pass|fail|skip): ", result.stdout + result.stderr, re.MULTILINE)
