"""All documents of the repository have valid links and paths, and agree with the code and the tests."""

import re
from datetime import timedelta
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from petservice.guides.rendering import anchor
from tests.documents import ROOT, block
from tests.running.checkout import tracked

DOCUMENTS = [ROOT / name for name in tracked() if name.endswith(".md")]

# The service shows these, and tests run parts of them.
PUBLISHED = [ROOT / "README.md", *(ROOT / "petservice" / "docs").glob("*.md")]

pytestmark = pytest.mark.once
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def without_code(document: Path) -> str:
    return re.sub(r"^```.*?^```$|<!--.*?-->", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors_of(document: Path) -> list[str]:
    headings = re.findall(r"^#+ (.*)$", without_code(document), re.MULTILINE)
    return [anchor(heading.replace("`", "")) for heading in headings]


@each_document
def test_every_link_has_a_target(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(document)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not heading or heading in anchors_of(target), link


@each_document
def test_every_path_of_the_repository_exists(document: Path) -> None:
    paths = re.findall(r"(?<![\w./])(?:petservice|pets|store|tests)/[\w/.]*\w", document.read_text())

    assert [path for path in paths if not (ROOT / path).exists()] == []


@each_document
def test_no_two_headings_have_the_same_anchor(document: Path) -> None:
    anchors = anchors_of(document)

    assert len(anchors) == len({*anchors})


def test_each_marked_block_is_used_by_a_test() -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    marked = [
        (path.name, name) for path in PUBLISHED for name in re.findall(r"<!-- tested: (.*) -->", path.read_text())
    ]
    for document, name in marked:
        assert block(document, name)
        assert f'"{document}", "{name}"' in tests, f"no test uses the block {name} of {document}"


def test_each_log_line_and_message_that_operators_look_up_exists() -> None:
    """The section on troubleshooting quotes the beginnings of log lines and messages."""
    source = "".join(path.read_text() for app in ("petservice", "pets") for path in (ROOT / app).rglob("*.py"))
    quoted = re.findall("“([^”…]+)", (ROOT / "petservice" / "docs" / "operations.md").read_text())
    assert quoted
    assert [text for text in quoted if text.strip() not in source] == []


def test_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200


# Limits and periods. The tests of what they do may read or replace the constants.

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
KIB, MIB = 1024, 1024 * 1024


@pytest.mark.parametrize(
    ("constant", "value", "document", "words"),
    [
        ("pets.services:IDEMPOTENCY_PERIOD", 24 * HOUR, "api", "For 24 hours, a request with the same key"),
        ("petservice.api.serializers:MAX_LENGTH", 255, "api", "strings of 1 to 255 characters"),
        ("petservice.api.pagination:DEFAULT_LIMIT", 100, "api", "The default is 100."),
        ("petservice.api.pagination:MAX_LIMIT", 1000, "api", "Values above 1000 are treated as 1000."),
        ("petservice.server.limits:MAX_REQUEST_LINE", 8190, "api", "request line | 8,190 bytes"),
        ("petservice.server.limits:MAX_HEADERS", 64, "api", "headers | 64, each at most 8,188 bytes with its name"),
        ("petservice.api.parsers:MAX_BODY_BYTES", 64 * KIB, "api", "body | 64 KiB"),
        ("petservice.monitoring.redaction:_ECHO", 100, "api", "at most 100 characters of what you sent"),
        ("petservice.backoffice.sales:DAYS", 30, "admin", "the last 30 days; a new pet"),
        ("petservice.backoffice.sales:TAGS", 8, "admin", "the eight tags with the most sales"),
        ("petservice.backoffice.sales:MAX_SALES", 3_000, "admin", "Above 3,000 sales it shows the last 3,000"),
        ("petservice.backoffice.dashboard:FAILING_KEYS", 5, "admin", "the five keys with the most failed requests"),
        ("petservice.admin_pages.bounded_paginator:MAX_COUNTED", 10_000, "admin", "import page says | 10,000 pets"),
        ("pets.admin.lists.changelist:MAX_SHOWN", 1000, "admin", "it shows the first 1,000"),
        ("pets.admin.changes.undo_pages:MAX_UNCONFIRMED", 20, "admin", "Up to 20 pets, it undoes the change at once"),
        ("petservice.journal.models:Item.TRASH_PERIOD", 30 * DAY, "admin", "*Trash* for 30 days"),
        ("petservice.journal.models:Event.UNDO_PERIOD", HOUR, "admin", "undone once, within an hour"),
        ("petservice.apikeys.keys:PREFIX_LENGTH", 18, "admin", "only its first 18 characters"),
        ("petservice.apikeys.models:SOON", 14 * DAY, "admin", "Expire within 14 days"),
        ("petservice.apikeys.models:NEVER_USED_AFTER", 7 * DAY, "admin", "Never used, created over 7 days ago"),
        ("petservice.apikeys.models:IDLE_AFTER", 90 * DAY, "admin", "Not used for 90 days"),
        ("petservice.apikeys.models:USAGE_DAYS", 30, "admin", "its requests of the last 30 days"),
        ("petservice.journal.admin:MAX_EXPORTED", 100_000, "admin", "downloads up to 100,000 events"),
        ("petservice.journal.logins:PERIOD", 15 * MINUTE, "operations", "in a quarter of an hour"),
        ("petservice.journal.logins:MAX_ENTRIES", 500, "operations", "at most 500 entries"),
        ("django.conf:settings.PASSWORD_RESET_TIMEOUT", 3 * 24 * 3600, "admin", "A link works once, for three days"),
        ("django.conf:settings.AXES_FAILURE_LIMIT", 5, "admin", "After five failed attempts for one account"),
        ("django.conf:settings.AXES_COOLOFF_TIME", 15 * MINUTE, "admin", "attempts are rejected for 15 minutes"),
        ("petservice.sign_in.factors:RECOVERY_CODES", 10, "admin", "Save the ten recovery codes"),
        ("petservice.sign_in.sessions:RECENT", timedelta(minutes=15), "admin", "logged in within the last 15 minutes"),
        ("petservice.sign_in.sessions:LIFETIME", 12 * HOUR, "admin", "A session ends 12 hours after the login"),
        ("petservice.sign_in.sessions:IDLE_LIFETIME", 30 * MINUTE, "admin", "30 minutes without use"),
        ("petservice.server.limits:MAX_UPLOAD_BYTES", 128 * MIB, "configuration", "a staff account | 128 MiB"),
        ("petservice.server.limits:MAX_UPLOADS_OF_ACCOUNT", 2, "configuration", "two at a time per account"),
        ("petservice.server.limits:MAX_UPLOADS", 8, "configuration", "eight per worker"),
        ("petservice.server.limits:KEEPALIVE", 15, "deployment", "which waits 15 seconds"),
        ("petservice.apikeys.request_counter:RESPONSE_TIMEOUT", 0.5, "deployment", "slower than 0.5 seconds"),
    ],
)
def test_a_constant_has_the_documented_value(constant: str, value: Any, document: str, words: str) -> None:
    assert resolve_name(constant) == value
    assert words in " ".join((ROOT / f"petservice/docs/{document}.md").read_text().split())
