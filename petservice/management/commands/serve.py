import os
import signal
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, transaction
from django.utils.crypto import get_random_string

from petservice.apikeys.management.commands.create_api_key import print_once
from petservice.apikeys.models import APIKey
from petservice.db.backend import STATEMENT_TIMEOUT, backend, time_limit
from petservice.journal.models import Event
from petservice.journal.recording import add_event

# Signals that gunicorn handles once it runs. Until then, their default would end or suspend a start that migrates.
_SIGNALS_OF_GUNICORN = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTTIN, signal.SIGTTOU)


class Command(BaseCommand):
    help = "Check the configuration, prepare the database and start the web server."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--bind",
            metavar="ADDRESS",
            help="HOST:PORT or unix:PATH. Default: 127.0.0.1:8000, or 0.0.0.0:$PORT if PORT is set.",
        )
        parser.add_argument(
            "--migrate",
            action="store_true",
            help="Also migrate a PostgreSQL database. If several instances start together, one migrates and the "
            "others wait.",
        )

    def handle(self, *args: Any, bind: str | None, migrate: bool, **options: Any) -> None:
        for name in _SIGNALS_OF_GUNICORN:
            signal.signal(name, signal.SIG_IGN)
        from petservice.server.run import WebServer  # now, because gunicorn reads variables when it is imported

        server = WebServer(bind)
        is_embedded = connection.vendor == "sqlite"
        with _database():
            backend().begin_service()
            if is_embedded or migrate:
                call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        time_limit.set(STATEMENT_TIMEOUT)
        if is_embedded and not settings.LIVE:
            server.when_ready = self._set_up_on_first_use
        server.run()

    def _set_up_on_first_use(self, address: Any) -> None:
        # The transaction begins as a writer: of two services starting together one does this. It ends when the text is
        # printed, because nobody could use an account whose password was not.
        with _database(), transaction.atomic():
            if text := self._first_account_and_key(_url_for_curl(address)):
                print_once(self, text, "first password and key")

    def _first_account_and_key(self, url: str) -> str:
        """Make a staff account and a key if there has never been either, and return the text to print, or ""."""
        users = get_user_model().objects
        if users.exists() or APIKey.objects.exists():
            return ""
        password = get_random_string(20)
        administrator = users.create_superuser("admin", password=password)
        message = "Added by the first start of the service. Role: Administrator."
        add_event(None, Event.Kind.ACCOUNT_ADDED, target=administrator, message=message)
        api_key, plain = APIKey.objects.create_key(name="First key")
        message = f"Created by the first start of the service. {api_key.summary()}"
        add_event(None, Event.Kind.KEY_CREATED, target=api_key, message=message)
        curl = (
            f"curl -H 'X-API-Key: {plain}' -H 'Content-Type: application/json' "
            f"""-d '{{"name": "Rex", "tag": "dog"}}' {url}/v1/pets"""
        )
        return f"""
The pet service is set up. This is printed once; keep it:

    staff account   admin
    password        {password}
    API key         {plain}
    data directory  {settings.DATA_DIR}

    home page       {url}/
    API             {url}/v1
    documentation   {url}/docs
    admin           {url}/admin/

Try it:

    {curl}
"""


@contextmanager
def _database() -> Iterator[None]:
    """Close the connection at the end of the block, because workers must not inherit it."""
    try:
        yield
    except (DatabaseError, OSError) as error:
        raise CommandError(f"The database cannot be used, check DATABASE_URL: {error}") from error
    finally:
        connection.close()


def _url_for_curl(address: Any) -> str:
    """Return where a client on this machine finds the service that listens at an address, as arguments of curl."""
    scheme = "https" if os.environ.get("TLS_CERTFILE") else "http"
    if isinstance(address, str):
        return f"--unix-socket {address} {scheme}://localhost"
    host, port, *_ = address
    if host in ("", "0.0.0.0", "::"):  # noqa: S104  # compared with, not bound to
        host = "127.0.0.1"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
