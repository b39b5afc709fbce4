"""The function that starts the server. Nothing else may be imported from outside this package."""

from typing import Any

from gunicorn.app.base import Application


def run(bind: str | None) -> None:
    """Run gunicorn in this process until it ends, on the address `bind` or on the one of gunicorn's settings."""
    _WebServer(bind).run()


class _WebServer(Application):  # type: ignore[misc]  # gunicorn has no types
    """A gunicorn application that uses the already loaded Django."""

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
