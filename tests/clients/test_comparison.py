"""A change of the document that breaks clients needs a new major version, an addition a new minor one."""

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

    `redocly diff` pairs parameters by how alike they are, so one with another description can look like another one.
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


def complaint(base: Path, revision: Path) -> str:
    """The changes since `base` that the version in `revision` does not tell of; empty if it tells of all.

    Rated by `redocly diff`, whose own --check-version would want a new version for each mended word, too.
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


def test_the_version_tells_of_every_change_since_the_release(tmp_path: Path) -> None:
    paths = []
    for document in (PUBLISHED, DOCUMENT):
        paths.append(tmp_path / document.name)
        paths[-1].write_text(json.dumps(without_words(json.loads(document.read_text()))))

    assert complaint(*paths) == "", "give the document a new version, or take the change back"


@pytest.fixture
def complaint_about(tmp_path: Path) -> Callable[..., str]:
    """The complaint about the document with these changes, as if it were at 1.0.0 without them."""

    def about(*changes: Change) -> str:
        document = json.loads(DOCUMENT.read_text())
        base, revision = tmp_path / "base.json", tmp_path / "revision.json"
        version("1.0.0")(document)
        base.write_text(json.dumps(document))
        for change in changes:
            change(document)
        revision.write_text(json.dumps(document))
        return complaint(base, revision)

    return about


def version(number: str) -> Change:
    return lambda document: document["info"].update(version=number)


def operation(document: Document, path: str = "/pets", method: str = "get") -> Document:
    found: Document = document["paths"][path][method]
    return found


def limit(document: Document) -> Document:
    return next(it for it in operation(document)["parameters"] if it["name"] == "limit")


def schema(document: Document, name: str) -> Document:
    found: Document = document["components"]["schemas"][name]
    return found


def rename_pet(document: Document) -> None:
    text = json.dumps(document).replace('schemas/Pet"', 'schemas/Animal"')
    document.update(json.loads(text))
    schemas = document["components"]["schemas"]
    schemas["Animal"] = schemas.pop("Pet")


def rename_pet_id(document: Document) -> None:
    document.update(json.loads(json.dumps(document).replace("petId", "id")))


BREAKING: dict[str, Change] = {
    "a path is removed": lambda it: it["paths"].pop("/store/inventory"),
    "an operation is renamed": lambda it: operation(it).update(operationId="pets"),
    "a parameter is removed": lambda it: operation(it)["parameters"].remove(limit(it)),
    "a parameter is narrowed": lambda it: limit(it)["schema"].update(maximum=1000),
    "a new header is required": lambda it: operation(it)["parameters"].append(
        {"in": "header", "name": "X-Shop", "required": True, "schema": {"type": "string"}}
    ),
    "a request's member is required": lambda it: schema(it, "CreatePetRequest")["required"].append("tag"),
    "an answer's member is removed": lambda it: schema(it, "Pet")["properties"].pop("tag"),
    "an answer's member is optional": lambda it: schema(it, "Pet")["required"].remove("name"),
    "an answer's member has another type": lambda it: schema(it, "Pet")["properties"]["name"].update(type="integer"),
    "an answer has another value": lambda it: schema(it, "ErrorCode")["enum"].append("gone"),
    "a status is removed": lambda it: operation(it, "/pets/{petId}")["responses"].pop("404"),
    "an answer's header is removed": lambda it: operation(it)["responses"]["200"]["headers"].pop("Link"),
    "a key is needed": lambda it: operation(it, "/health").update(security=[{"apiKey": []}]),
    "the key has another header": lambda it: it["components"]["securitySchemes"]["apiKey"].update(name="X-Key"),
    "the address is another": lambda it: it["servers"][0].update(url="/v2"),
}
ADDING: dict[str, Change] = {
    "a path": lambda it: it["paths"].update({"/live": {"get": operation(it, "/health") | {"operationId": "live"}}}),
    "an answer's member": lambda it: schema(it, "Pet")["properties"].update(colour={"type": "string"}),
}
HARMLESS: list[Change] = [
    lambda it: operation(it).update(description="Pets."),
    lambda it: limit(it).update(example=50),
    lambda it: schema(it, "CreatePetRequest")["properties"]["name"].update(maxLength=300),
]
# These can break a client as well, and tests/README.md lists them: remove from it what the comparison sees one day.
UNSEEN: list[Change] = [
    rename_pet,
    rename_pet_id,
    lambda it: operation(it).update(tags=["Animals"]),
    lambda it: limit(it)["schema"].update(default=50),
    lambda it: schema(it, "CreatePetRequest")["properties"].pop("tag"),
    lambda it: schema(it, "ErrorCode")["enum"].remove("conflict"),
    lambda it: schema(it, "Inventory")["properties"]["sold"].update(format="int64"),
    lambda it: operation(it, method="post")["responses"]["201"]["headers"]["Location"].update(required=False),
]


@pytest.mark.parametrize("change", BREAKING.values(), ids=BREAKING)
def test_a_breaking_change_is_refused(change: Change, complaint_about: Callable[..., str]) -> None:
    assert "major: " in complaint_about(change, version("1.1.0"))


def test_a_new_major_version_tells_of_a_breaking_change(complaint_about: Callable[..., str]) -> None:
    assert complaint_about(BREAKING["a path is removed"], version("2.0.0")) == ""


@pytest.mark.parametrize("change", ADDING.values(), ids=ADDING)
def test_an_addition_is_refused(change: Change, complaint_about: Callable[..., str]) -> None:
    assert "minor: " in complaint_about(change, version("1.0.1"))


def test_a_new_minor_version_tells_of_additions(complaint_about: Callable[..., str]) -> None:
    assert complaint_about(*ADDING.values(), version("1.1.0")) == ""


def test_harmless_changes_need_no_new_version(complaint_about: Callable[..., str]) -> None:
    assert complaint_about(*HARMLESS) == ""


def test_the_comparison_does_not_see_what_the_readme_says_it_does_not(complaint_about: Callable[..., str]) -> None:
    assert complaint_about(*UNSEEN) == ""
