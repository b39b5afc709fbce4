"""Wait for conditions instead of for an amount of time."""

import time
from collections.abc import Callable

import pytest


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait until `condition` holds, and fail if it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds} seconds")
        time.sleep(0.02)  # between two checks of the condition
