from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from petservice.apikeys import keys
from petservice.apikeys.models import APIKey
from petservice.db.pending_migrations import DatabaseCommand
from petservice.journal.models import Event
from petservice.journal.recording import add_event


class Command(DatabaseCommand):
    help = "Revoke an API key. Requests with it are rejected immediately."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("prefix", help="Prefix of the key, as shown in the admin, or the complete key.")

    def handle(self, *args: Any, prefix: str, **options: Any) -> None:
        shown = keys.prefix(prefix)
        found = list(APIKey.objects.filter(prefix=shown))
        if not found:
            raise CommandError(f"No API key has the prefix {shown!r}: give its first {keys.PREFIX_LENGTH} characters.")
        for api_key in found:
            with transaction.atomic():
                if is_revoked_now := api_key.revoke():
                    message = "Revoked by the command revoke_api_key."
                    add_event(None, Event.Kind.KEY_REVOKED, target=api_key, message=message)
            if is_revoked_now:
                self.stdout.write(f"Revoked {api_key}.")
            else:
                self.stdout.write(f"{api_key} is already revoked, since {api_key.revoked_at:%Y-%m-%d %H:%M:%S %Z}.")
