"""Password hashing that lets all other work of the service go first.

A check of a password computes for a fraction of a second. Without this module, guesses of strangers take half of a busy
processor from the requests of all other clients.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from django.contrib.auth.hashers import PBKDF2PasswordHasher

# The nice value of the thread (setpriority(2)), for which it gets about a tenth of a processor that is busy.
NICE = 10


class LowPriorityHasher(PBKDF2PasswordHasher):
    """Django's default hasher on a thread of low priority, which computes without Python's global lock."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        return _thread().submit(super().encode, password, salt, iterations).result()


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="passwords", initializer=_lower_priority)


# A forked process has no threads: one that hashed a password before its fork must not wait for that thread.
os.register_at_fork(after_in_child=_thread.cache_clear)


def _lower_priority() -> None:
    if sys.platform == "linux":  # elsewhere, only processes have a priority
        thread = threading.get_native_id()
        # The priority of a service that was started with a lower one cannot be raised.
        os.setpriority(os.PRIO_PROCESS, thread, max(NICE, os.getpriority(os.PRIO_PROCESS, thread)))
