"""How the service stops: SIGTERM may begin a drain, which announces the stop to load balancers; SIGINT ends it."""

import signal
from functools import partial
from typing import Any

from petservice.health import announce_stop, is_stopping


def stop_gracefully_on_interrupt(server: Any) -> None:
    """Make gunicorn's master let requests that run finish at SIGINT (Ctrl-C), as at SIGTERM; another cuts them off."""
    server.handle_int = server.handle_term  # to be called before drain_first, so that SIGINT begins no drain


def drain_first(server: Any, seconds: float) -> None:
    """Make gunicorn's master answer SIGTERM with a drain of `seconds`: `/ready` is 503 and everything else goes on."""
    server.handle_term = partial(_handle_term, server, seconds)


def _handle_term(server: Any, seconds: float) -> None:
    if is_stopping():  # the drain is over, or a second signal ends it
        raise StopIteration  # gunicorn's own way to stop
    announce_stop()
    server.log.info("Draining: /ready returns 503; stopping in %s seconds", seconds)
    signal.signal(signal.SIGALRM, lambda *_: server.signal(signal.SIGTERM, None))
    signal.setitimer(signal.ITIMER_REAL, seconds)
