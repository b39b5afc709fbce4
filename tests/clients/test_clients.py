"""Generators make working clients and collections from the OpenAPI document, without a warning."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import openapi_generator_cli
import pytest

from tests.clients.tools import DOCUMENT, HERE, QUICK_START, run
from tests.service import Service

pytestmark = pytest.mark.clients

SCENARIOS = HERE / "scenarios"

# The generator warns in this way of every document that has a property without a reference to a schema
# (AbstractPythonCodegen.toDefaultValue). Remove this when it no longer does.
PYTHON_GENERATOR = {"[main] WARN  o.o.codegen.utils.ModelUtils - Failed to get the schema name: null"}

# The generator itself contains the version of Jackson that its clients in Java need.
JACKSON = Path(openapi_generator_cli.__file__).with_name("openapi-generator.jar")
CLASSES = f"{JACKSON}:/usr/share/java/geronimo-annotation-1.3-spec.jar:classes"
# For each language: the options of the OpenAPI Generator, how the client and a scenario are compiled, and the program.
LANGUAGES = {
    "python": ("", "", "python -W error -m scenario.openapi_generator"),
    "ruby": ("", "", "ruby -I lib scenario/ruby.rb"),
    "php": ("", "", "php -d display_errors=stderr scenario/php.php"),
    "go": ("", "go build -o program ./scenario", "./program"),
    "java": (
        "--library native --additional-properties openApiNullable=false",
        f"javac -J{QUICK_START} -proc:none -nowarn -d classes -cp {CLASSES} $(find src/main scenario -name '*.java')",
        f"java {QUICK_START} -cp {CLASSES} Scenario",
    ),
}


def check(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, result.stdout + result.stderr


def check_program(*command: str | Path, folder: Path = HERE) -> None:
    """Run a program, and fail unless it succeeds without output on standard error."""
    result = run(*command, folder=folder)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr


def generate(generator: str, folder: Path, *options: str | Path, document: Path = DOCUMENT) -> set[str]:
    """Generate a client with the OpenAPI Generator, and return its warnings and errors.

    A slow machine gets some of them twice, because the generator suppresses a repeated line only for a while.
    """
    result = run("openapi-generator-cli", "generate", "-g", generator, "-i", document, "-o", folder, *options)
    check(result)
    return set(re.findall(r"^\[\S+\] (?:WARN|ERROR) .*", result.stdout + result.stderr, re.MULTILINE))


def use_typescript(folder: Path, scenario: str) -> None:
    for part in (SCENARIOS / scenario, HERE / "tsconfig.json", HERE / "package.json"):
        shutil.copy(part, folder)
    (folder / "node_modules").symlink_to(HERE / "node_modules")


def test_client_of_openapi_python_client_works(service: Service, service_key: str, tmp_path: Path) -> None:
    package = tmp_path / "pet_service_api_client"
    options = ["--meta", "none", "--fail-on-warning"]
    check(run("openapi-python-client", "generate", "--path", DOCUMENT, "--output-path", package, *options))

    scenario = shutil.copy(SCENARIOS / "openapi_python_client.py", tmp_path)
    check_program(sys.executable, "-W", "error", scenario, service.url, service_key)


def test_client_of_openapi_typescript_and_openapi_fetch_works(
    service: Service, service_key: str, tmp_path: Path
) -> None:
    generated = run("openapi-typescript", DOCUMENT, "--output", "schema.ts", folder=tmp_path)
    check(generated)
    assert re.sub(r"^(✨|🚀) .*\n|^\n", "", generated.stdout + generated.stderr, flags=re.MULTILINE) == ""

    use_typescript(tmp_path, "openapi_fetch.ts")
    check(run("tsc", "--project", tmp_path))
    check_program("node", tmp_path / "openapi_fetch.js", service.url, service_key)


@pytest.fixture
def document(service: Service, tmp_path: Path) -> Path:
    """A file with the document that the service returns, which names the URL of the service."""
    path = tmp_path / "openapi.json"
    with service.client() as client:
        path.write_text(client.get("/openapi.json").text)
    return path


@pytest.mark.parametrize("language", LANGUAGES)
def test_client_of_the_openapi_generator_works(
    service: Service, service_key: str, document: Path, tmp_path: Path, language: str
) -> None:
    options, build, program = LANGUAGES[language]
    found = generate(language, tmp_path, *options.split(), document=document)
    assert found == (PYTHON_GENERATOR if language == "python" else set())

    shutil.copytree(SCENARIOS, tmp_path / "scenario")
    check(run("bash", "-c", build, folder=tmp_path))
    check_program(*program.split(), service.url, service_key, folder=tmp_path)


def test_client_of_hey_api_works(service: Service, service_key: str, document: Path, tmp_path: Path) -> None:
    use_typescript(tmp_path, "hey_api.ts")
    options = ["--no-log-file", "--plugins", "@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"]
    check(run("openapi-ts", "-i", document, "-o", tmp_path / "client", *options, folder=tmp_path))

    # The generated code does not have these exact types itself.
    check(run("tsc", "--project", tmp_path, "--exactOptionalPropertyTypes", "false"))
    check_program("node", tmp_path / "hey_api.js", service.url, service_key)


@pytest.mark.parametrize("generator", ["csharp", "kotlin", "typescript-fetch"])
def test_generator_has_no_warnings(generator: str, tmp_path: Path) -> None:
    assert generate(generator, tmp_path) == set()


# A collection that Postman makes from the document works as it is: its requests are sent without any change.


def collection(document: Path, *options: str) -> Path:
    """Import a document into a new collection, and return its file."""
    imported = document.with_name("collection.json")
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
    service: Service, service_key: str, document: Path, tmp_path: Path, options: list[str], imports: int, runs: int
) -> None:
    found = []
    for _ in range(imports):
        found += responses(collection(document, *options), service_key, tmp_path, runs=runs)

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
