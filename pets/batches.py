"""Batches of ids, because a statement has a limited number of parameters."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

# Number of pets that one statement reads or writes.
BATCH = 1000


def batches(ids: Sequence[T]) -> list[list[T]]:
    """Return the ids in lists of at most BATCH."""
    return [list(ids[start : start + BATCH]) for start in range(0, len(ids), BATCH)]
