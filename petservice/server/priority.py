"""The order in which the event loop serves ready sockets: known clients first, then probes, then strangers.

Without this module, a client with a key waits for two hundred clients without a key whose requests arrive a moment
earlier.
"""

import heapq
import selectors
from collections import ChainMap
from collections.abc import Mapping
from itertools import count
from typing import Any

from petservice.paths import PROBES
from petservice.server.limits import PRIORITY_STEPS

# The key of the kind of client in a request's ASGI scope. Its value is KNOWN, STRANGER, or one of paths.PROBES.
CLIENT_KIND = "petservice.client_kind"
KNOWN = "known"
STRANGER = "stranger"
# The kind of a listening socket, which is ready while a connection waits to be accepted.
LISTENER = "listener"

# Kinds of socket by priority. All ready sockets of known clients are served, and one of each other kind.
_RANKS = ((KNOWN,), PROBES, (LISTENER, STRANGER))

# A ready socket, as selectors return it.
Ready = tuple[selectors.SelectorKey, int]


class PrioritySelector(selectors.DefaultSelector):
    """A selector that returns all ready sockets of known clients, and in some steps one of each other kind.

    A request takes PRIORITY_STEPS steps of the event loop. After a socket is served, none of the same or a lower
    priority follows for so many steps, except those of known clients. No priority waits for more than one step longer.

    The kernel reports each waiting socket only once, so that a step costs the same for any number of them.
    The first socket of a kind is the one that has waited longest since its turn.
    """

    def __init__(self) -> None:
        super().__init__()
        # Sockets of other kinds than KNOWN, and the number of the turn that each had last.
        self._kinds: dict[int, str] = {}
        self._turns: dict[int, int] = {}
        self._next_turn = count(1)
        # Ready sockets that wait for their turn. The kernel does not watch them.
        self._aside: dict[int, selectors.SelectorKey] = {}
        self._events: dict[int, int] = {}
        # The waiting sockets of each kind, as a heap of their last turn and descriptor. Some may be closed already.
        self._queues: dict[str, list[tuple[int, int]]] = {kind: [] for kind in (*PROBES, STRANGER)}
        # Sockets that the latest call returned, of those that were waiting.
        self._served: list[int] = []
        self._step = 0
        # The step in which each rank was served last.
        self._served_at = [-PRIORITY_STEPS] * len(_RANKS)
        self._map = ChainMap(self._aside, super().get_map())  # type: ignore[arg-type]  # ChainMap wants it mutable

    def set_kind(self, descriptor: int, kind: str) -> None:
        """Set the kind of client that a socket belongs to. Sockets without a kind are those of known clients."""
        if kind == KNOWN:
            self._kinds.pop(descriptor, None)
            self._turns.pop(descriptor, None)
        else:
            self._kinds[descriptor] = kind

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._map

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._aside.pop(fileobj, None) or super().unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if fileobj not in self._aside:
            return super().modify(fileobj, events, data)
        key = self._aside[fileobj] = self._aside[fileobj]._replace(events=events, data=data)
        return key

    def select(self, timeout: float | None = None) -> list[Ready]:
        """Return the sockets to serve now, after waiting for a ready one for at most `timeout` seconds."""
        self._watch_served()
        ready = super().select(0 if self._aside else timeout)
        self._step += 1
        chosen: list[Ready] = []
        listeners: list[Ready] = []
        for one in ready:
            kind = self._kinds.get(one[0].fd)
            if kind is None:
                chosen.append(one)
            elif kind == LISTENER:
                listeners.append(one)
            else:
                self._set_aside(kind, *one)
        if chosen:
            self._served_at[0] = self._step
        if self._aside or listeners:
            for rank, kinds in enumerate(_RANKS[1:], 1):
                if self._may_serve(rank):
                    chosen += self._turns_of(rank, kinds, listeners)
        return chosen

    def _turns_of(self, rank: int, kinds: tuple[str, ...], listeners: list[Ready]) -> list[Ready]:
        """Return one ready socket of each kind of a rank."""
        found = [one for kind in kinds for one in (listeners[:1] if kind == LISTENER else self._next(kind))]
        if found:
            self._served_at[rank] = self._step
        return found

    def _watch_served(self) -> None:
        for descriptor in self._served:
            key = self._aside.pop(descriptor, None)
            if key is not None:
                self.register(key.fileobj, key.events, key.data)
        self._served.clear()

    def _set_aside(self, kind: str, key: selectors.SelectorKey, events: int) -> None:
        self._aside[key.fd] = super().unregister(key.fd)
        self._events[key.fd] = events
        heapq.heappush(self._queues[kind], (self._turns.get(key.fd, 0), key.fd))

    def _may_serve(self, rank: int) -> bool:
        """Return whether the latest request of this rank and of higher ones has ended, or has taken too long."""
        is_free = all(self._step - at >= PRIORITY_STEPS for at in self._served_at[: rank + 1])
        return is_free or self._step - self._served_at[rank] > PRIORITY_STEPS

    def _next(self, kind: str) -> list[Ready]:
        queue = self._queues[kind]
        while queue:
            descriptor = heapq.heappop(queue)[1]
            key = self._aside.get(descriptor)
            if key is None:
                continue  # it was closed
            self._served.append(descriptor)
            events = self._events.pop(descriptor, 0) & key.events
            if events:
                self._turns[descriptor] = next(self._next_turn)
                return [(key, events)]
        return []
