"""A collection that Postman makes from the document works as it is: its requests are sent without any change."""

import json
from pathlib import Path

import pytest

from tests.clients.tools import run
from tests.service import Service


def collection(service: Service, folder: Path, *options: str) -> Path:
    """Import the document of a service into a new collection, and return its file."""
    document, imported = folder / "openapi.json", folder / "collection.json"
    with service.client() as client:
        document.write_text(client.get("/openapi.json").text)
    result = run("openapi2postmanv2", "-s", document, "-o", imported, *options)
    assert imported.exists(), result.stdout + result.stderr
    return imported


def responses(imported: Path, key: str, folder: Path, *, runs: int = 1) -> list[tuple[str, int, str]]:
    """Run a collection, and return the name of each request with the status and the body of the response."""
    report = folder / "report.json"
    command = ["newman", "run", imported, "--env-var", f"apiKey={key}", "-n", str(runs)]
    result = run(*command, "--reporters", "json", "--reporter-json-export", report)
    assert result.returncode == 0, result.stdout + result.stderr
    return [
        (one["item"]["name"], one["response"]["code"], bytes(one["response"]["stream"]["data"]).decode())
        for one in json.loads(report.read_text())["run"]["executions"]
    ]


@pytest.mark.parametrize(
    ("options", "imports", "runs"),
    [(["-O", "parametersResolution=Example"], 1, 3), ([], 2, 1)],
    ids=["with the examples", "with values that each import makes up"],
)
def test_each_run_of_a_collection_creates_a_pet(
    service: Service, service_key: str, tmp_path: Path, options: list[str], imports: int, runs: int
) -> None:
    found = []
    for _ in range(imports):
        found += responses(collection(service, tmp_path, *options), service_key, tmp_path, runs=runs)

    # Another test may have created the pet of the example.
    others = [(name, status) for name, status, _ in found if name != "Get a pet"]
    expected = [("Health check", 200), ("List pets", 200), ("Create a pet", 201), ("Get inventory", 200)]
    assert others == imports * runs * expected
    created = [json.loads(body)["id"] for name, _, body in found if name == "Create a pet"]
    assert len(set(created)) == len(created)
    lists = [json.loads(body) for name, _, body in found[5:] if name == "List pets"]
    with service.client(service_key) as client:
        first = client.get("/v1/pets", params={"limit": 1}).json()[0]
    assert all(pets[:1] == [first] for pets in lists), "lists show the pets that earlier runs created"
