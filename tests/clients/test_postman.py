"""A collection that Postman makes from the document works as it is: its requests are sent without any change."""

import json
from pathlib import Path

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


def pets(found: list[tuple[str, int, str]], request: str) -> list[str]:
    return [pet["id"] for name, _, body in found if name == request for pet in [json.loads(body)]]


def assert_lists_begin_with_the_first_pet(found: list[tuple[str, int, str]], service: Service, key: str) -> None:
    """Check that lists show the pets that earlier runs created, if all fit on a page."""
    with service.client(key) as client:
        first = client.get("/v1/pets", params={"limit": 1}).json()[0]
    lists = [json.loads(body) for name, _, body in found if name == "List pets"]
    assert lists
    assert all(pets[:1] == [first] for pets in lists)


def test_each_run_of_a_collection_with_the_examples_creates_a_pet(
    service: Service, service_key: str, tmp_path: Path
) -> None:
    imported = collection(service, tmp_path, "-O", "parametersResolution=Example")

    found = responses(imported, service_key, tmp_path, runs=3)

    # Another test may have created the pet of the example.
    others = [(name, status) for name, status, _ in found if name != "Get a pet"]
    assert others == 3 * [("Health check", 200), ("List pets", 200), ("Create a pet", 201), ("Get inventory", 200)]
    assert len(found) == 15
    assert len(set(pets(found, "Create a pet"))) == 3
    assert_lists_begin_with_the_first_pet(found[5:], service, service_key)


def test_each_import_with_made_up_values_creates_a_pet(service: Service, service_key: str, tmp_path: Path) -> None:
    found = [one for _ in range(2) for one in responses(collection(service, tmp_path), service_key, tmp_path)]

    assert [status for name, status, _ in found if name in ("List pets", "Create a pet")] == [200, 201, 200, 201]
    assert len(set(pets(found, "Create a pet"))) == 2
    assert_lists_begin_with_the_first_pet(found[5:], service, service_key)
