"""Generators make working clients from the OpenAPI document, without a warning."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.tools import DOCUMENT, HERE, run
from tests.service import Service

SCENARIOS = HERE / "scenarios"

# The generator warns in this way of every document that has a property without a reference to a schema
# (AbstractPythonCodegen.toDefaultValue). Remove this when it no longer does.
PYTHON_GENERATOR = {"[main] WARN  o.o.codegen.utils.ModelUtils - Failed to get the schema name: null"}


def check(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, result.stdout + result.stderr


def check_program(*command: str | Path) -> None:
    """Run a program, and fail unless it succeeds without output on standard error."""
    result = run(*command)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr


def generate(generator: str, folder: Path) -> set[str]:
    """Generate a client with the OpenAPI Generator, and return its warnings and errors.

    A slow machine gets some of them twice, because the generator suppresses a repeated line only for a while.
    """
    result = run("openapi-generator-cli", "generate", "-g", generator, "-i", DOCUMENT, "-o", folder)
    check(result)
    return set(re.findall(r"^\[\S+\] (?:WARN|ERROR) .*", result.stdout + result.stderr, re.MULTILINE))


def test_client_of_openapi_python_client_works(service: Service, service_key: str, tmp_path: Path) -> None:
    package = tmp_path / "pet_service_api_client"
    options = ["--meta", "none", "--fail-on-warning"]
    check(run("openapi-python-client", "generate", "--path", DOCUMENT, "--output-path", package, *options))

    scenario = shutil.copy(SCENARIOS / "openapi_python_client.py", tmp_path)
    check_program(sys.executable, "-W", "error", scenario, service.url, service_key)


def test_python_client_of_the_openapi_generator_works(service: Service, service_key: str, tmp_path: Path) -> None:
    assert generate("python", tmp_path) == PYTHON_GENERATOR

    scenario = shutil.copy(SCENARIOS / "openapi_generator.py", tmp_path)
    check_program(sys.executable, "-W", "error", scenario, service.url, service_key)


def test_client_of_openapi_typescript_and_openapi_fetch_works(
    service: Service, service_key: str, tmp_path: Path
) -> None:
    generated = run("openapi-typescript", DOCUMENT, "--output", "schema.ts", folder=tmp_path)
    check(generated)
    assert re.sub(r"^(✨|🚀) .*\n|^\n", "", generated.stdout + generated.stderr, flags=re.MULTILINE) == ""

    for part in (SCENARIOS / "openapi_fetch.ts", HERE / "tsconfig.json", HERE / "package.json"):
        shutil.copy(part, tmp_path)
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    check(run("tsc", "--project", tmp_path))
    check_program("node", tmp_path / "openapi_fetch.js", service.url, service_key)


@pytest.mark.parametrize("generator", ["csharp", "go", "java", "kotlin", "typescript-fetch"])
def test_generator_has_no_warnings(generator: str, tmp_path: Path) -> None:
    assert generate(generator, tmp_path) == set()
