"""The numbers of connections of all workers, by which a worker leaves a connection to another one."""

import pytest

from petservice.server.balancing import SLOTS, Balancer, WorkerSlot

pytestmark = pytest.mark.once(on="postgresql")


def slots(*connections: int | None) -> list[WorkerSlot]:
    """Return slots of workers with these numbers of connections; None means that a worker accepts none."""
    balancer = Balancer()
    found = [balancer.slot(age) for age in range(1, len(connections) + 1)]
    for slot, number in zip(found, connections, strict=True):
        slot.note(number)
    return found


def test_worker_with_more_connections_than_another_is_recognized() -> None:
    assert [slot.has_more_than_another() for slot in slots(2, 1, 0)] == [True, True, False]
    assert [slot.has_more_than_another() for slot in slots(1, 1)] == [False, False]


def test_worker_that_accepts_nothing_is_ignored_in_the_comparison() -> None:
    full, one = slots(None, 1)
    assert not one.has_more_than_another()
    full.note(0)
    assert one.has_more_than_another()


def test_workers_have_slots_after_any_number_of_replacements() -> None:
    balancer = Balancer()
    old, new = balancer.slot(10 * SLOTS), balancer.slot(11 * SLOTS - 1)
    old.note(1)
    new.note(0)
    assert old.has_more_than_another()
    new.note(None)
    assert not old.has_more_than_another()
