import re
from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from petservice.apikeys import keys
from petservice.apikeys.models import MAX_REQUESTS_PER_MINUTE, APIKey
from petservice.db.pending_migrations import DatabaseCommand
from petservice.journal.models import Event
from petservice.journal.recording import add_event

_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def duration(text: str) -> timedelta:
    """Parse a time span such as `90d`, `12h` or `30m`, or raise ArgumentTypeError."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([dhm])", text, re.ASCII)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a time span; write for example 90d, 12h or 30m")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def print_once(command: BaseCommand, text: str, secret: str) -> None:
    """Write a secret that cannot be shown again, within its transaction. Raises CommandError if nobody can read it."""
    try:
        command.stdout.write(text)
        command.stdout.flush()  # now, because workers of `serve` are forks, which would print the buffered text again
    except OSError as error:
        raise CommandError(f"The {secret} cannot be printed: {error}") from error


class Command(DatabaseCommand):
    help = "Create an API key and write it, and nothing else, to standard output. It cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="Who uses the key.")
        parser.add_argument("--read-only", action="store_true", help="The key may not create pets. By default it may.")
        parser.add_argument("--expires-in", type=duration, metavar="SPAN", help="For example 90d, 12h or 30m.")
        parser.add_argument(
            "--requests-per-minute", type=int, metavar="N", help="Maximum requests per minute. Needs REDIS_URL."
        )
        parser.add_argument("--environment", choices=keys.ENVIRONMENTS, default=settings.ENVIRONMENT)

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        name = name.strip()
        if not 1 <= len(name) <= 100:
            raise CommandError("NAME must have 1 to 100 characters; say who uses the key.")
        span, limit = options["expires_in"], options["requests_per_minute"]
        if limit is not None and not 1 <= limit <= MAX_REQUESTS_PER_MINUTE:
            raise CommandError(f"--requests-per-minute must be from 1 to {MAX_REQUESTS_PER_MINUTE}.")
        if limit is not None and not settings.REDIS_URL:
            raise CommandError("--requests-per-minute needs Redis: set REDIS_URL.")
        with transaction.atomic():
            api_key, plain = APIKey.objects.create_key(
                name=name,
                environment=options["environment"],
                access=APIKey.Access.READ_ONLY if options["read_only"] else APIKey.Access.READ_AND_WRITE,
                expires_at=timezone.now() + span if span else None,
                requests_per_minute=limit,
            )
            message = f"Created by the command create_api_key. {api_key.summary()}"
            add_event(None, Event.Kind.KEY_CREATED, target=api_key, message=message)
            print_once(self, plain, "key")
        self.stderr.write(
            f"Created {api_key}, {api_key.get_access_display().lower()}. This is the only time the key is shown."
        )
