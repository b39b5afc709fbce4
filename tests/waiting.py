"""Wait for conditions instead of for an amount of time."""

import time
from collections.abc import Callable

import pytest


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait until `condition` holds, and fail with its last value if it does not within `seconds`.

    The default is long, because on a busy machine a service may start after half a minute.
    """
    began = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - began
        if waited > seconds:
            pytest.fail(f"not within {seconds} seconds; the last value is {value!r}")
        # Longer, the longer it takes, because many conditions are requests to a service, which take processor time.
        time.sleep(min(0.02 + waited / 10, 0.1))
