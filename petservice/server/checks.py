"""System checks of the variables that gunicorn reads. `serve` runs them before it starts."""

import os
import shlex
from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, register


@register("server")
def check_gunicorn_variables(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    """Return E010 to E012 for each variable that gunicorn could not use."""
    workers, port = os.environ.get("WEB_CONCURRENCY", "1"), os.environ.get("PORT", "8000")
    arguments = os.environ.get("GUNICORN_CMD_ARGS", "")
    has_workers = _is_integer(workers, most=9999)
    # gunicorn.config converts WEB_CONCURRENCY when it is imported, so it is imported only if that is valid.
    problem = _problem_with_arguments(arguments) if arguments and has_workers else ""
    problems = [
        (
            not has_workers,
            f"WEB_CONCURRENCY={workers!r} is not a number of worker processes from 1 to 9999; "
            "write for example WEB_CONCURRENCY=4",
            "petservice.E010",
        ),
        (
            not _is_integer(port, most=65535),
            f"PORT={port!r} is not a port from 1 to 65535; write for example PORT=8000",
            "petservice.E011",
        ),
        (
            problem,
            f"GUNICORN_CMD_ARGS={arguments!r} cannot be used ({problem}); write options of gunicorn's, for example "
            "GUNICORN_CMD_ARGS='--timeout 60'",
            "petservice.E012",
        ),
    ]
    return [Error(text, id=check_id) for wrong, text, check_id in problems if wrong]


def _is_integer(text: str, *, most: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most


def _problem_with_arguments(arguments: str) -> str:
    """Return why gunicorn cannot use these arguments, or an empty string if it can."""
    from gunicorn.config import Config

    def fail(message: str) -> None:
        raise ValueError(message)

    config = Config()
    parser = config.parser()
    parser.error = fail  # the original prints a usage message and ends the process
    try:
        options = vars(parser.parse_args(shlex.split(arguments)))
        if unknown := options.pop("args"):
            return f"it has {' '.join(unknown)!r} that belongs to no option"
        for name, value in options.items():
            if value is not None:
                config.set(name, value)
    except Exception as error:  # each option raises its own kind of error
        return str(error)
    return ""
