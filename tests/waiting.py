"""Wait for conditions instead of for an amount of time."""

import time
from collections.abc import Callable

import pytest


def wait_until(condition: Callable[[], object], seconds: float = 120) -> None:
    """Wait until `condition` holds, and fail with its last value if it does not within `seconds`.

    The default is long, because on a busy machine a service may start after half a minute.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds} seconds; the last value is {value!r}")
        time.sleep(0.02)  # between two checks of the condition
