"""Password hashing in processor time that nothing else needs.

A check of a password computes for a fraction of a second. Without this module, guesses of strangers delay the requests
of all other clients by several milliseconds, because the kernel rarely interrupts a thread for another one.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

from django.contrib.auth.hashers import PBKDF2PasswordHasher

# Seconds that a password may wait for an idle processor. Afterwards, the calling thread hashes it without waiting.
MAX_WAIT = 1.0
# Held by the one thread that waits for an idle processor.
_is_waiting = threading.Lock()


class IdleTimeHasher(PBKDF2PasswordHasher):
    """Django's default hasher on a thread that any other work interrupts (SCHED_IDLE, see sched(7))."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        encode = partial(super().encode, password, salt, iterations)
        if _is_waiting.acquire(blocking=False):
            hashed: Future[str] = Future()
            # A stop of the service does not wait for a daemon thread.
            threading.Thread(target=_run_when_idle, args=(encode, hashed), daemon=True).start()
            with suppress(TimeoutError):
                return hashed.result(MAX_WAIT)
        return encode()


def _run_when_idle(function: Callable[[], str], result: "Future[str]") -> None:
    # Only Linux has such threads, and a sandbox may forbid the call.
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    try:
        hashed = function()
    except Exception as error:
        _is_waiting.release()
        result.set_exception(error)
    else:
        _is_waiting.release()  # first, because the caller may have another password
        result.set_result(hashed)
