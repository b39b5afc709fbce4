"""The format of API keys, and the commands that create and revoke them."""

import re
import string
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.core.management import CommandError
from django.utils import timezone

from petservice.apikeys import keys
from petservice.apikeys.management.commands import create_api_key as create_api_key_command
from petservice.apikeys.models import APIKey
from petservice.journal.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.once]

Run = Callable[..., tuple[str, str]]


@pytest.mark.parametrize("environment", ["test", "live"])
def test_a_key_has_the_documented_format_and_nothing_else_is_one(environment: str) -> None:
    plain = [keys.generate(environment) for _ in range(200)]

    assert all(re.fullmatch(rf"pets_{environment}_[0-9A-Za-z]{{49}}", one, re.ASCII) for one in plain)
    assert {*map(keys.environment_of, plain)} == {environment}
    assert {character for one in plain for character in one[10:53]} == {*string.ascii_letters, *string.digits}
    key = plain[0]
    mistyped = key[:-1] + ("0" if key[-1] != "0" else "1")
    for text in ("", "pets_test_", "a" * 59, mistyped, f"Bearer {key}", f" {key}", f"{key}\n", f"\0{key}", key * 2):
        assert keys.environment_of(text) is None, text


def test_the_checksum_is_the_crc_32_in_base62() -> None:
    assert keys.checksum("123456789") == "3jZRME", "the standard check value, CBF43926 in hexadecimal"
    assert keys.checksum("") == "000000"


# The commands.


def assert_recorded(kind: str, start: str) -> None:
    """Check the only entry of the audit."""
    entry = Event.objects.with_record().get()
    created = APIKey.objects.get(pk=entry.record_id)
    assert (entry.kind, entry.account_name, entry.record_name) == (kind, "command", str(created))
    assert entry.message.startswith(start)


def test_create_api_key_writes_the_key_and_nothing_else_to_standard_output(run: Run) -> None:
    output, errors = run("create_api_key", "Acme's web shop")

    api_key = APIKey.objects.get()
    assert output == f"{output.strip()}\n"
    assert api_key.digest == keys.digest(output.strip())
    assert (api_key.name, api_key.environment, api_key.access) == ("Acme's web shop", "test", "write")
    assert api_key.expires_at is None
    assert errors.startswith(f"Created {api_key}, read and write.")
    assert output.strip() not in errors
    start = "Created by the command create_api_key. Read and write, no limit, does not expire. Run by"
    assert_recorded("key_created", start)


def test_create_api_key_uses_its_options(run: Run, settings: LazySettings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1/0"
    before = timezone.now()

    options = ("--read-only", "--expires-in", "90d", "--environment", "live", "--requests-per-minute", "600")
    output, _ = run("create_api_key", "Acme", *options)

    api_key = APIKey.objects.get()
    assert keys.environment_of(output.strip()) == "live"
    assert (api_key.environment, api_key.access, api_key.requests_per_minute) == ("live", "read", 600)
    start = "Created by the command create_api_key. Read only, 600 requests per minute, expires on "
    assert_recorded("key_created", start)
    assert before + timedelta(days=90) <= api_key.expires_at <= timezone.now() + timedelta(days=90)


def test_a_time_span_has_days_hours_or_minutes() -> None:
    spans = [create_api_key_command.duration(text) for text in ("1d", "12h", "30m")]

    assert spans == [timedelta(days=1), timedelta(hours=12), timedelta(minutes=30)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(
            (["Acme", f"--expires-in={span}"], "is not a time span; write for example 90d, 12h or 30m")
            for span in ("", "90", "d", "0d", "-1d", "1.5d", "1w", "90 d", "1d12h", "\u0661d", "1000000d", "soon")
        ),
        *(([name], "NAME must have 1 to 100 characters") for name in ("", "   ", "a" * 101)),
        (["Acme", "--environment", "staging"], "invalid choice: 'staging'"),
        *((["Acme", f"--requests-per-minute={limit}"], "must be from 1 to 100000") for limit in ("0", "-1", "100001")),
        *((["Acme", f"--requests-per-minute={limit}"], "invalid int value") for limit in ("", "1.5", "many")),
        (["Acme", "--requests-per-minute", "600"], "--requests-per-minute needs Redis: set REDIS_URL"),
    ],
)
def test_create_api_key_rejects_invalid_arguments(run: Run, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run("create_api_key", *arguments)

    assert not APIKey.objects.exists()


@pytest.mark.parametrize("length", [keys.PREFIX_LENGTH, None], ids=["prefix", "complete key"])
def test_revoke_api_key_revokes_the_key_and_does_not_print_it(run: Run, length: int | None) -> None:
    api_key, plain = APIKey.objects.create_key(name="Acme")
    APIKey.objects.create_key(name="Other")

    assert run("revoke_api_key", plain[:length]) == (f"Revoked {api_key}.\n", "")

    assert APIKey.objects.exclude(revoked_at=None).get() == api_key
    assert_recorded("key_revoked", "Revoked by the command revoke_api_key. Run by the operating system user ")


def test_revoke_api_key_reports_that_a_key_is_already_revoked(run: Run) -> None:
    api_key, plain = APIKey.objects.create_key(name="Acme", revoked_at=datetime(2026, 3, 1, 12, tzinfo=UTC))

    assert run("revoke_api_key", plain[:18])[0] == f"{api_key} is already revoked, since 2026-03-01 12:00:00 UTC.\n"
    assert APIKey.objects.get().revoked_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert not Event.objects.exists()


def test_revoke_api_key_rejects_a_prefix_that_is_unknown_or_too_short(run: Run) -> None:
    _, plain = APIKey.objects.create_key(name="Acme")

    for text in ("pets_test_00000000", *(plain[:length] for length in (0, 1, 10, 17))):
        with pytest.raises(CommandError, match=f"No API key has the prefix '{text}': give its first 18 characters."):
            run("revoke_api_key", text)

    assert not APIKey.objects.get().is_revoked
