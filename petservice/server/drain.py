"""The stop of the service: SIGTERM can begin a drain, which announces the stop to load balancers; SIGINT ends it."""

import signal
from collections.abc import Callable
from functools import partial
from typing import Any

from petservice.api.health import announce_stop, is_stopping

# Seconds after SIGQUIT until the workers that still run are killed, as after a second SIGINT.
QUICK_STOP_TIMEOUT = 2


def stop_quickly_on_quit(server: Any) -> None:
    """Let SIGQUIT cut off running requests. gunicorn's master would wait for them as it does at SIGTERM."""
    server.handle_quit = partial(_handle_quit, server, server.handle_quit)


def _handle_quit(server: Any, stop: Callable[[], None]) -> None:
    server.cfg.set("graceful_timeout", QUICK_STOP_TIMEOUT)
    stop()


def drain_first(server: Any, seconds: float) -> None:
    """Begin a drain of `seconds` at SIGTERM: `/ready` returns 503 and all other requests continue."""
    server.handle_term = partial(_handle_term, server, seconds)


def _handle_term(server: Any, seconds: float) -> None:
    if is_stopping():  # the drain is over, or a second signal has ended it
        raise StopIteration  # this is how gunicorn's master stops
    announce_stop()
    server.log.info("Draining: /ready returns 503; stopping in %s seconds", seconds)
    signal.signal(signal.SIGALRM, lambda *_: server.signal(signal.SIGTERM, None))
    signal.setitimer(signal.ITIMER_REAL, seconds)
