"""The order in which the event loop serves ready sockets."""

import selectors
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from petservice.paths import HEALTH, READINESS
from petservice.server.limits import PRIORITY_STEPS
from petservice.server.priority import KNOWN, LISTENER, STRANGER, PrioritySelector

pytestmark = pytest.mark.once(on="postgresql")

ENOUGH_STEPS = 100


class Sockets:
    """Sockets with unread data, which a selector watches."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.selector = stack.enter_context(PrioritySelector())

    def ready(self, name: str, kind: str) -> socket.socket:
        """Add a ready socket of a kind of client."""
        end, other_end = socket.socketpair()
        self._stack.enter_context(end)
        self._stack.enter_context(other_end)
        other_end.send(b"x")
        self.selector.register(end.fileno(), selectors.EVENT_READ, name)
        self.selector.set_kind(end.fileno(), kind)
        return end

    def step(self) -> list[str]:
        """Return the names of the sockets that the event loop would serve in its next step."""
        return [key.data for key, _ in self.selector.select(0)]

    def order(self, number: int) -> list[str]:
        """Return the names in the first `number` turns."""
        served: list[str] = []
        for _ in range(ENOUGH_STEPS):
            served += self.step()
        return served[:number]


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    with ExitStack() as stack:
        yield Sockets(stack)


def test_known_clients_come_before_probes_and_these_before_strangers(sockets: Sockets) -> None:
    sockets.order(0)
    for name, kind in (("stranger", STRANGER), ("listener", LISTENER), ("ready", READINESS), ("health", HEALTH)):
        sockets.ready(name, kind)
    known = [sockets.ready(name, KNOWN) for name in ("one", "two")]

    assert sorted(sockets.step()[:2]) == ["one", "two"]
    for end in known:
        sockets.selector.unregister(end.fileno())
    following = sockets.order(4)
    assert sorted(following[:2]) == ["health", "ready"]
    assert "stranger" in following or "listener" in following


def test_stranger_waits_until_requests_of_others_have_ended_but_no_longer(sockets: Sockets) -> None:
    sockets.ready("stranger", STRANGER)
    sockets.ready("known", KNOWN)
    sockets.order(0)

    steps = [sockets.step() for _ in range(10 * (PRIORITY_STEPS + 1))]

    assert all("known" in step for step in steps)
    assert sum("stranger" in step for step in steps) == 10


def test_strangers_take_turns_and_the_one_that_comes_seldom_waits_least(sockets: Sockets) -> None:
    for name in ("one", "two", "three"):
        sockets.ready(name, STRANGER)
    served = sockets.order(9)
    assert sorted(served[:3]) == sorted(served[3:6]) == sorted(served[6:9]) == ["one", "three", "two"]

    seldom = sockets.ready("seldom", STRANGER)
    assert sockets.order(2).count("seldom") == 1
    assert seldom.recv(1) == b"x"


def test_waiting_socket_can_be_changed_and_removed(sockets: Sockets) -> None:
    """asyncio does both, for example when it begins to write to a socket or closes it."""
    first, second, third = (sockets.ready(name, STRANGER) for name in ("first", "second", "third"))
    sockets.step()  # the others wait now
    for end in (first, second, third):
        assert sockets.selector.get_map()[end.fileno()] == sockets.selector.get_key(end.fileno())
    both = selectors.EVENT_READ | selectors.EVENT_WRITE
    sockets.selector.modify(second.fileno(), both, "changed")
    assert sockets.selector.get_key(second.fileno()).events == both
    assert sockets.selector.unregister(third.fileno()).data == "third"
    assert third.fileno() not in sockets.selector.get_map()

    assert set(sockets.order(6)) == {"first", "changed"}

    sockets.selector.modify(second.fileno(), selectors.EVENT_WRITE, "writes")
    assert [mask for key, mask in _served(sockets) if key.data == "writes"][-1] == selectors.EVENT_WRITE
    sockets.selector.register(third.fileno(), selectors.EVENT_READ, "again")
    assert "again" in sockets.order(ENOUGH_STEPS)


def test_waiting_socket_is_not_served_for_an_event_that_is_no_longer_wanted(sockets: Sockets) -> None:
    """asyncio stops reading from a client that sends faster than the service handles."""
    ends = [sockets.ready(name, STRANGER) for name in ("one", "two")]
    sockets.step()  # one of them waits now
    for end in ends:
        sockets.selector.modify(end.fileno(), selectors.EVENT_WRITE, "writes")

    assert {(key.data, mask) for key, mask in _served(sockets)} == {("writes", selectors.EVENT_WRITE)}


def _served(sockets: Sockets) -> list[tuple[selectors.SelectorKey, int]]:
    return [one for _ in range(ENOUGH_STEPS) for one in sockets.selector.select(0)]


def test_selector_sleeps_when_no_socket_is_ready(sockets: Sockets) -> None:
    end = sockets.ready("stranger", STRANGER)
    assert sockets.order(1) == ["stranger"]
    end.recv(1)
    sockets.order(0)
    assert sockets.selector.select(0.01) == []
