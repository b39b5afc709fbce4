"""Waiting for conditions instead of for time."""

import time
from collections.abc import Callable

import pytest


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait for `condition` to hold; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds} seconds")
        time.sleep(0.02)  # between looks at the condition, not instead of it
