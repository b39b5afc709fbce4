"""A change of the document that breaks clients needs a new major version, and an addition a new minor version."""

import json
from pathlib import Path
from typing import Any

from tests.clients.tools import DOCUMENT, HERE, PUBLISHED, run


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
