"""The system checks of what the server needs. `serve` runs them before it starts."""

import os
import shlex
import tempfile
from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, register


@register("server")
def check_gunicorn_arguments(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    """Return E012 if gunicorn could not use GUNICORN_CMD_ARGS."""
    arguments = os.environ.get("GUNICORN_CMD_ARGS", "")
    problem = _problem_with_arguments(arguments) if arguments else ""
    if not problem:
        return []
    text = (
        f"GUNICORN_CMD_ARGS={arguments!r} cannot be used ({problem}); write options of gunicorn's, for example "
        "GUNICORN_CMD_ARGS='--timeout 60'"
    )
    return [Error(text, id="petservice.E012")]


@register("server")
def check_temporary_directory(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    """Return E013 if there is no directory for the temporary files of uploads."""
    try:
        tempfile.gettempdir()
    except OSError as error:
        text = (
            f"There is no directory for temporary files ({error.strerror}): set TMPDIR to one that can be written, "
            "for example TMPDIR=/var/lib/petservice"
        )
        return [Error(text, id="petservice.E013")]
    return []


def _problem_with_arguments(arguments: str) -> str:
    """Return why gunicorn cannot use these arguments, or an empty string if it can."""
    try:
        from gunicorn.config import Config
    except ValueError:  # gunicorn converts WEB_CONCURRENCY when it is imported, and the variable has its own error
        return ""

    def fail(message: str) -> None:
        raise ValueError(message)

    config = Config()
    parser = config.parser()
    parser.error = fail  # the original prints a usage message and ends the process
    try:
        options = vars(parser.parse_args(shlex.split(arguments)))
        if unknown := options.pop("args"):
            return f"it has {' '.join(unknown)!r} that belongs to no option"
        if options["config"]:
            return "the service has its own configuration file, so write the options themselves instead of --config"
        for name, value in options.items():
            if value is not None:
                config.set(name, value)
    except Exception as error:  # each option raises its own kind of error
        return str(error)
    return ""
