import fcntl
import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, transaction
from django.utils.crypto import get_random_string
from gunicorn.app.base import Application

from petservice.apikeys.models import APIKey

# Any number, as long as nothing else that uses the database locks it.
_LOCK = 7_387_115


class Command(BaseCommand):
    help = "Check the configuration, migrate and set up the embedded database, and become the web server."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--bind",
            metavar="ADDRESS",
            help="HOST:PORT or unix:PATH; by default gunicorn's own: 127.0.0.1:8000, or every address at $PORT.",
        )
        parser.add_argument(
            "--migrate",
            action="store_true",
            help="Migrate a shared database as well; of several instances that start together one does.",
        )

    def handle(self, *args: Any, bind: str | None, migrate: bool, **options: Any) -> None:
        is_embedded = connection.vendor == "sqlite"
        try:
            if is_embedded or migrate:
                with _one_at_a_time():
                    call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
                    if is_embedded and not settings.LIVE:
                        self._set_up_on_first_use(bind)
        except (DatabaseError, OSError) as error:
            raise CommandError(f"The database cannot be used, check DATABASE_URL: {error}") from error
        finally:
            connection.close()
        # Whatever is printed must be out before the workers begin as copies of this process.
        self.stdout.flush()
        _WebServer(bind).run()

    @transaction.atomic
    def _set_up_on_first_use(self, bind: str | None) -> None:
        """Make a staff account and a key and print both, if there has never been either.

        The transaction begins as a writer: of two services starting together one does this.
        """
        users = get_user_model().objects
        if users.exists() or APIKey.objects.exists():
            return
        password = get_random_string(20)
        users.create_superuser("admin", password=password)
        _, plain = APIKey.objects.create_key(name="First key")
        address = _address(bind)
        curl = (
            f"curl -H 'X-API-Key: {plain}' -H 'Content-Type: application/json' "
            f"""-d '{{"name": "Rex", "tag": "dog"}}' {address}/v1/pets"""
        )
        self.stdout.write(
            f"""
The pet service is set up. This is printed once; keep it:

    staff account   admin
    password        {password}
    API key         {plain}

    front page      {address}/
    API             {address}/v1
    documentation   {address}/docs
    back office     {address}/admin/

Try it:

    {curl}
"""
        )


class _WebServer(Application):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn in this process, where Django is loaded already; `bind` as in `serve --bind`."""

    def __init__(self, bind: str | None) -> None:
        self._bind = bind
        super().__init__()

    def load_config(self) -> None:
        self.load_config_from_module_name_or_filename("python:petservice.server.gunicorn_conf")
        arguments = vars(self.cfg.parser().parse_args(self.cfg.get_cmd_args_from_env()))
        arguments |= {"bind": self._bind} if self._bind else {}
        for name, value in arguments.items():
            if value is not None and name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        from petservice.server.asgi import application

        return application


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Of services that start together on one database one migrates, and the others wait and find it done."""
    if connection.vendor == "sqlite":
        # Beside the database: its own lock would be in the way of the migrations' transactions.
        with Path(f"{connection.settings_dict['NAME']}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def _address(bind: str | None) -> str:
    """Where a client on this machine finds the service."""
    scheme = "https" if os.environ.get("TLS_CERTFILE") else "http"
    host, _, port = (bind or "").rpartition(":")
    if host in ("", "unix", "0.0.0.0", "[::]"):  # noqa: S104  # compared with, not bound to
        host = "127.0.0.1"
    if not port.isdigit():
        port = os.environ.get("PORT", "8000")
    return f"{scheme}://{host}:{port}"
