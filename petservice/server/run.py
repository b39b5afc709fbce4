"""The web server as `serve` starts it. Nothing else may be imported from outside this package."""

import os
from collections.abc import Callable
from typing import Any, NoReturn

from gunicorn.app.base import Application

from petservice.server.certificate import Certificate, described
from petservice.server.start import StartError, allow_open_files, require_temporary_directory, try_addresses

__all__ = ["StartError", "WebServer"]


class WebServer(Application):  # type: ignore[misc]  # gunicorn has no types
    """A gunicorn application that uses the already loaded Django."""

    def __init__(self, bind: str | None) -> None:
        """Prepare to listen at `bind`, or at the address of gunicorn's settings.

        Raises StartError if the server could not start: if an address is in use, for example.
        """
        self._bind = bind
        # Called when all that can fail has been tried, and before the first worker starts.
        self.when_ready: Callable[[], object] = lambda: None
        self.certificate: Certificate | None = None
        super().__init__()
        require_temporary_directory()
        allow_open_files()
        try_addresses(self.cfg)
        if self.cfg.is_ssl:
            try:
                self.certificate = Certificate(self.cfg)
            except OSError as error:
                raise StartError(f"{described(self.cfg, error)}: name a certificate and its private key") from error

    def load_config(self) -> None:
        self.load_config_from_module_name_or_filename("python:petservice.server.gunicorn_conf")
        parser = self.cfg.parser()
        parser.error = _refuse  # the original prints a usage message and ends the process
        try:
            options = vars(parser.parse_args(self.cfg.get_cmd_args_from_env()))
            if options.pop("args") or options["config"]:
                raise ValueError("it may only have options, and not --config")
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

    def reload(self) -> None:
        """Load renewed TLS files, at SIGHUP. The other settings come from the environment, which has not changed."""
        if self.certificate is not None:
            self.certificate.renew()

    def load(self) -> Any:
        from petservice.server.application import application

        return application


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)
