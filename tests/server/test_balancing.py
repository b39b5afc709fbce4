"""The numbers of connections of all workers, by which a worker leaves a connection to another one."""

from collections.abc import Iterator

import pytest

from petservice.server.balancing import SLOTS, WorkerSlot

pytestmark = pytest.mark.once(on="postgresql")


@pytest.fixture
def slots() -> Iterator[list[WorkerSlot]]:
    """The slots of two workers, which are free at the end. The second worker is as old as workers become."""
    slots = [WorkerSlot(1), WorkerSlot(11 * SLOTS)]
    yield slots
    for slot in slots:
        slot.note(None)


@pytest.mark.parametrize(
    ("connections", "has_more"),
    [((2, 1), [True, False]), ((1, 1), [False, False]), ((None, 1), [False, False]), ((0, 1), [False, True])],
)
def test_worker_has_more_connections_than_another_that_accepts_some(
    slots: list[WorkerSlot], connections: tuple[int | None, ...], has_more: list[bool]
) -> None:
    for slot, number in zip(slots, connections, strict=True):
        slot.note(number)

    assert [slot.has_more_than_another() for slot in slots] == has_more
