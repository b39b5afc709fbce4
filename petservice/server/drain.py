"""The drain: for some seconds a stop is only announced, so that load balancers send no more requests."""

import signal
from functools import partial
from typing import Any

from petservice.health import announce_stop, is_stopping


def drain_first(server: Any, seconds: float) -> None:
    """Make gunicorn's master answer SIGTERM with a drain of `seconds`: `/ready` is 503 and everything else goes on."""
    server.handle_term = partial(_handle_term, server, seconds)


def _handle_term(server: Any, seconds: float) -> None:
    if is_stopping():  # the drain is over, or a second signal ends it
        raise StopIteration  # gunicorn's own way to stop
    announce_stop()
    server.log.info("Not ready any more; stopping in %s seconds", seconds)
    signal.signal(signal.SIGALRM, lambda *_: server.signal(signal.SIGTERM, None))
    signal.setitimer(signal.ITIMER_REAL, seconds)
