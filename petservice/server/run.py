"""The web server as `serve` starts it. What of its start can fail is tried before the database is used.

It is the only module of this package that others import.
"""

import errno
import logging
import os
import resource
import socket
import ssl
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandError
from gunicorn import sock
from gunicorn.app.base import Application

from petservice.configuration.certificates import FEW_DAYS, end_of_certificate

logger = logging.getLogger(__name__)

# Number of files that a worker opens in addition to its connections, with a margin: databases, Redis, uploads, logs.
_OTHER_FILES = 200
_SECONDS_PER_DAY = 86_400
# Seconds that the resolver waits for each name server, and how often it asks them all. By default, names of hosts take
# half a minute while three name servers are silent, and the worker of such requests would be replaced.
_RESOLVER = "timeout:1 attempts:2"


class WebServer(Application):  # type: ignore[misc]  # gunicorn has no types
    """A gunicorn application that uses the already loaded Django, and one TLS certificate for all workers."""

    # What was loaded last of the TLS files; workers inherit it from the master.
    tls: ssl.SSLContext | None = None
    _certificate_end = 0

    def __init__(self, bind: str | None) -> None:
        """Prepare to listen at `bind`, or at the address of gunicorn's settings.

        Raises CommandError if the server could not start: if an address is in use, for example.
        """
        self._bind = bind
        # Called with the address of the first listener, when all that can fail has been tried, before a worker starts.
        self.when_ready: Callable[[Any], object] = lambda address: None
        super().__init__()
        os.environ.setdefault("RES_OPTIONS", _RESOLVER)
        _require_temporary_directory()
        self._allow_open_files()
        _try_addresses(self.cfg)
        self._load_certificate()

    def load_config(self) -> None:
        self.load_config_from_module_name_or_filename("python:petservice.server.gunicorn_conf")
        parser = self.cfg.parser()
        parser.error = _refuse  # the original prints a usage message and ends the process
        try:
            options = vars(parser.parse_args(self.cfg.get_cmd_args_from_env()))
            if options.pop("args") or options["config"] or options["worker_class"]:
                raise ValueError("it may only have options, and neither --config nor --worker-class")
            for name, value in options.items():
                if value is not None:
                    self.cfg.set(name, value)
        except Exception as error:  # each option raises its own kind of error
            raise ValueError(
                f"GUNICORN_CMD_ARGS={os.environ['GUNICORN_CMD_ARGS']!r} cannot be used ({error}); write options of "
                "gunicorn's, for example GUNICORN_CMD_ARGS='--timeout 60'"
            ) from error
        if self._bind:
            self.cfg.set("bind", self._bind)

    def load(self) -> Any:
        from petservice.wsgi import application

        return application

    def reload(self) -> None:
        """Load renewed TLS files, at SIGHUP. The other settings come from the environment, which has not changed.

        If the files cannot be used, keep what was loaded, and log an error.
        """
        try:
            self._load_certificate()
        except CommandError as error:
            message = (
                "The TLS files cannot be used, so the service keeps the certificate that it has, for %.1f days: %s"
            )
            logger.error(message, self.days_left(), error)

    def days_left(self) -> float:
        """Return for how many more days the certificate is valid; below zero if it has expired."""
        return (self._certificate_end - time.time()) / _SECONDS_PER_DAY

    def _allow_open_files(self) -> None:
        """Let workers open as many files as their connections need, as far as the operating system allows it.

        Its usual 1,024 are too few. At a lower limit, workers have fewer connections, because databases need files too.
        """
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        connections = self.cfg.worker_connections
        wanted = connections + _OTHER_FILES
        if 0 <= soft < wanted:
            soft = wanted if hard < 0 else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            self.cfg.set("worker_connections", min(connections, max(soft - _OTHER_FILES, soft // 2)))

    def _load_certificate(self) -> None:
        if not self.cfg.is_ssl:
            return
        try:
            self.tls, self._certificate_end = sock.ssl_context(self.cfg), end_of_certificate(self.cfg.certfile)
        except OSError as error:
            reason = getattr(error, "reason", None) or error.strerror or error
            raise CommandError(
                f"TLS_CERTFILE={self.cfg.certfile} and TLS_KEYFILE={self.cfg.keyfile} are no usable pair ({reason}): "
                "name a certificate and its private key"
            ) from error
        level = logging.WARNING if self.days_left() < FEW_DAYS else logging.INFO
        logger.log(level, "The TLS files were loaded. Days until the certificate expires: %.1f.", self.days_left())


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _require_temporary_directory() -> None:
    """Raise CommandError if there is no directory for the temporary files of uploads."""
    try:
        # If this is not set, Python takes another directory without a word when that of TMPDIR cannot be used.
        tempfile.tempdir = os.environ.get("TMPDIR") or None
        tempfile.TemporaryFile().close()
    except OSError as error:
        raise CommandError(
            f"There is no directory for temporary files ({error.strerror}): set TMPDIR to one that can be written, "
            "for example TMPDIR=/var/lib/petservice"
        ) from error


def _try_addresses(config: Any) -> None:
    """Raise CommandError if the service could not listen at one of its addresses."""
    if "LISTEN_FDS" in os.environ:  # systemd has made the sockets
        return
    where = "at this address"
    try:
        for address in config.address:
            if isinstance(address, int):  # the descriptor of a socket
                continue
            where = f"at unix:{address}" if isinstance(address, str) else f"at {':'.join(map(str, address))}"
            _bind_for_a_moment(address, reuse_port=config.reuse_port)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:  # also for a port that is no number
        reason = getattr(error, "strerror", None) or error
        raise CommandError(
            f"The service cannot listen {where} ({reason}): try --bind with another address, "
            "for example --bind 127.0.0.1:9000"
        ) from error


def _bind_for_a_moment(address: Any, *, reuse_port: bool) -> None:
    """Bind a socket as gunicorn does, but without listening, because clients would connect and be cut off."""
    if isinstance(address, str):
        family = socket.AF_UNIX
        with socket.socket(family) as client:
            if client.connect_ex(address) == 0:  # gunicorn would take the address away from the program that has it
                raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        if Path(address).is_socket():
            Path(address).unlink()  # a killed service has left it
    else:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind(address)
    if family == socket.AF_UNIX:
        Path(address).unlink()
