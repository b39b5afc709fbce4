from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from petservice.apikeys import keys
from petservice.apikeys.models import APIKey
from petservice.db.commands import DatabaseCommand


class Command(DatabaseCommand):
    help = "Revoke an API key. Requests with it are rejected immediately."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("prefix", help="prefix of the key, as shown in the admin, or the complete key")

    def handle(self, *args: Any, prefix: str, **options: Any) -> None:
        shown = keys.prefix(prefix)
        if len(shown) < keys.PREFIX_LENGTH:
            raise CommandError(f"{shown!r} is too short: give the first {keys.PREFIX_LENGTH} characters of the key.")
        found = list(APIKey.objects.filter(prefix=shown))
        if not found:
            raise CommandError(f"No API key begins with {shown!r}.")
        for api_key in found:
            if api_key.is_revoked:
                self.stdout.write(f"{api_key} is already revoked, since {api_key.revoked_at:%Y-%m-%d %H:%M:%S %Z}.")
            else:
                api_key.revoke()
                self.stdout.write(f"Revoked {api_key}.")
