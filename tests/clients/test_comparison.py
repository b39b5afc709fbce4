"""A change of the document that breaks clients needs a new major version, and an addition a new minor version."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.tools import DOCUMENT, HERE, PUBLISHED, run

Document = dict[str, Any]
Change = Callable[[Document], object]


def without_words(part: Any, *, are_names: bool = False) -> Any:
    """Return this part of a document with empty descriptions and without examples, which break no client.

    `redocly diff` pairs parameters by their similarity, so a new description can make one look like another.
    """
    if isinstance(part, list):
        return [without_words(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: "" if key == "description" and not are_names else without_words(value, are_names=key == "properties")
        for key, value in part.items()
        if key != "example" or are_names
    }


def undeclared(base: Path, revision: Path) -> str:
    """Return the changes since `base` for which the version of `revision` is too low, or an empty string.

    `redocly diff` rates the changes. Its own option --check-version would require a new version for each changed word.
    """
    command = ["redocly", "diff", base, revision, "--config", HERE / "redocly.yaml"]
    result = run(*command, "--fail-on", "none", "--format", "json")
    if result.returncode:
        return result.stderr
    report = json.loads(result.stdout)
    parts = {"major": 1, "minor": 2}.get(report.get("bump"), 0)
    had, has = ([int(it) for it in report["infoVersions"][side].split(".")[:parts]] for side in ("base", "revision"))
    if parts == 0 or has > had:
        return ""
    return "\n".join(
        f"{change['impact']}: {change['kind']} {change['path']} {' '.join(it['message'] for it in change['verdicts'])}"
        for change in report["changes"]
        if change["impact"] != "patch"
    )


# Corrections of the published document that changed no response, so a client of either document works. Remove them at
# the next release.
CORRECTIONS = {
    r"\\x85": "",  # Ruby rejects this escape in the pattern of texts
    "^[ -~]+$": "^[ -~]{1,255}$",  # the same lengths as before, for programs that make a value from the pattern alone
    # The error of an exceeded rate limit had a type of its own, with the only code that the others lacked.
    "schemas/TooManyRequestsResponse": "schemas/ErrorResponse",
    '"not_found", ': '"not_found", "too_many_requests", ',
}


def test_version_is_high_enough_for_the_changes_since_the_release(tmp_path: Path) -> None:
    published, document = (json.dumps(without_words(json.loads(path.read_text()))) for path in (PUBLISHED, DOCUMENT))
    for published_text, text in CORRECTIONS.items():
        assert published_text in published
        published = published.replace(published_text, text)
    paths = [tmp_path / "published.json", tmp_path / "openapi.json"]
    for path, text in zip(paths, (published, document), strict=True):
        path.write_text(text)

    assert undeclared(*paths) == "", "give the document a new version, or take the change back"


@pytest.fixture
def undeclared_by(tmp_path: Path) -> Callable[..., str]:
    """Return a function that compares the document, as version 1.0.0, with a changed copy of it."""

    def about(*changes: Change) -> str:
        document = json.loads(DOCUMENT.read_text())
        base, revision = tmp_path / "base.json", tmp_path / "revision.json"
        version("1.0.0")(document)
        base.write_text(json.dumps(document))
        for change in changes:
            change(document)
        revision.write_text(json.dumps(document))
        return undeclared(base, revision)

    return about


def version(number: str) -> Change:
    return lambda document: document["info"].update(version=number)


def operation(document: Document, path: str = "/pets") -> Document:
    found: Document = document["paths"][path]["get"]
    return found


def limit(document: Document) -> Document:
    return next(it for it in operation(document)["parameters"] if it["name"] == "limit")


def schema(document: Document, name: str) -> Document:
    found: Document = document["components"]["schemas"][name]
    return found


BREAKING: dict[str, Change] = {
    "a path is removed": lambda it: it["paths"].pop("/store/inventory"),
    "an operation is renamed": lambda it: operation(it).update(operationId="pets"),
    "a parameter is removed": lambda it: operation(it)["parameters"].remove(limit(it)),
    "a parameter is narrowed": lambda it: limit(it)["schema"].update(maximum=1000),
    "a new header is required": lambda it: operation(it)["parameters"].append(
        {"in": "header", "name": "X-Shop", "required": True, "schema": {"type": "string"}}
    ),
    "a field of a request is required": lambda it: schema(it, "CreatePetRequest")["required"].append("tag"),
    "a field of a response is removed": lambda it: schema(it, "Pet")["properties"].pop("tag"),
    "a field of a response is optional": lambda it: schema(it, "Pet")["required"].remove("name"),
    "a field of a response has another type": lambda it: schema(it, "Pet")["properties"]["name"].update(type="integer"),
    "a response has a new value": lambda it: schema(it, "ErrorCode")["enum"].append("gone"),
    "a status is removed": lambda it: operation(it, "/pets/{petId}")["responses"].pop("404"),
    "a header of a response is removed": lambda it: operation(it)["responses"]["200"]["headers"].pop("Link"),
    "a key is needed": lambda it: operation(it, "/health").update(security=[{"apiKey": []}]),
    "the key has another header": lambda it: it["components"]["securitySchemes"]["apiKey"].update(name="X-Key"),
    "the server has another URL": lambda it: it["servers"][0].update(url="/v2"),
}
ADDING: dict[str, Change] = {
    "a path": lambda it: it["paths"].update({"/live": {"get": operation(it, "/health") | {"operationId": "live"}}}),
    "a field of a response": lambda it: schema(it, "Pet")["properties"].update(colour={"type": "string"}),
}
HARMLESS: list[Change] = [
    lambda it: operation(it).update(description="Pets."),
    lambda it: limit(it).update(example=50),
    lambda it: schema(it, "CreatePetRequest")["properties"]["name"].update(maxLength=300),
]


@pytest.mark.parametrize("change", BREAKING.values(), ids=BREAKING)
def test_minor_version_is_too_low_for_a_breaking_change(change: Change, undeclared_by: Callable[..., str]) -> None:
    assert "major: " in undeclared_by(change, version("1.1.0"))


def test_major_version_is_high_enough_for_a_breaking_change(undeclared_by: Callable[..., str]) -> None:
    assert undeclared_by(BREAKING["a path is removed"], version("2.0.0")) == ""


@pytest.mark.parametrize("change", ADDING.values(), ids=ADDING)
def test_patch_version_is_too_low_for_an_addition(change: Change, undeclared_by: Callable[..., str]) -> None:
    assert "minor: " in undeclared_by(change, version("1.0.1"))


def test_minor_version_is_high_enough_for_additions(undeclared_by: Callable[..., str]) -> None:
    assert undeclared_by(*ADDING.values(), version("1.1.0")) == ""


def test_harmless_changes_need_no_new_version(undeclared_by: Callable[..., str]) -> None:
    assert undeclared_by(*HARMLESS) == ""
