"""Going out of service: for some seconds a stop only says that it is coming, so that load balancers send no more."""

import mmap
import signal
from functools import partial
from typing import Any

# Of the master process, and shared with the workers, which begin as copies of it.
_has_begun = mmap.mmap(-1, 1)


def has_begun() -> bool:
    """Whether the service is about to stop."""
    return _has_begun[0] == 1


def drain_first(server: Any, seconds: float) -> None:
    """Have gunicorn's master answer SIGTERM with `seconds` in which `/ready` is 503 and everything else goes on."""
    server.handle_term = partial(_handle_term, server, seconds)


def _handle_term(server: Any, seconds: float) -> None:
    if has_begun():  # the time is over, or somebody cannot wait
        raise StopIteration  # gunicorn's own way to stop
    _has_begun[0] = 1
    server.log.info("Not ready any more; stopping in %s seconds", seconds)
    signal.signal(signal.SIGALRM, lambda *_: server.signal(signal.SIGTERM, None))
    signal.setitimer(signal.ITIMER_REAL, seconds)
