"""The order in which the event loop serves ready sockets: one of a stranger, one of each probe, and all others.

Without this module, a client with a key waits for two hundred clients without a key whose requests arrive a moment
earlier.
"""

import selectors
from itertools import count
from typing import Any

# The key of the kind of client in a request's ASGI scope. Its value is one of these two, or one of paths.PROBES.
CLIENT_KIND = "petservice.client_kind"
KNOWN = "known"
STRANGER = "stranger"

# A ready socket, as selectors return it.
Ready = tuple[selectors.SelectorKey, int]


class PrioritySelector(selectors.DefaultSelector):
    """A selector that returns all ready sockets of known clients, and one of each other kind of client.

    The others stay ready, so later calls return them: of each kind the one that has waited longest since its turn.
    """

    def __init__(self) -> None:
        super().__init__()
        # Sockets of other kinds than KNOWN, and the number of the turn that each had last.
        self._kinds: dict[int, str] = {}
        self._turns: dict[int, int] = {}
        self._next_turn = count(1)

    def set_kind(self, descriptor: int, kind: str) -> None:
        """Set the kind of client that a socket belongs to. Sockets without a kind are those of known clients."""
        if kind == KNOWN:
            self._kinds.pop(descriptor, None)
            self._turns.pop(descriptor, None)
        else:
            self._kinds[descriptor] = kind

    def select(self, timeout: float | None = None) -> list[Ready]:
        """Return the sockets to serve now, after waiting for a ready one for at most `timeout` seconds."""
        ready = super().select(timeout)
        if not self._kinds:
            return ready
        chosen: list[Ready] = []
        waiting: dict[str, list[Any]] = {}
        for one in ready:
            kind = self._kinds.get(one[0].fd)
            (chosen if kind is None else waiting.setdefault(kind, [])).append(one)
        for sockets in waiting.values():
            turn = min(sockets, key=lambda one: self._turns.get(one[0].fd, 0))
            self._turns[turn[0].fd] = next(self._next_turn)
            chosen.append(turn)
        return chosen
