"""How many connections each worker has, and how a new one gets to the worker with the fewest.

The kernel gives a new connection to whichever worker asks first: of two clients both may end at one worker, and of
sixteen twelve, where they wait for each other while the worker beside it is idle.
"""

import mmap
import socket
from collections.abc import Iterator
from contextlib import suppress

# The place of the worker to whom a connection has been given, and how often that had looked for such before.
Given = tuple[int, int]


class Share:
    """What one worker has of the connections, and its way to the others."""

    def __init__(self, shares: "Shares", place: int | None) -> None:
        self._shares = shares
        self._place = place
        # By place, how often the worker there had looked, and how many it has been given since: they do not count there
        # yet.
        self._given: dict[int, tuple[int, int]] = {}

    @property
    def channel(self) -> socket.socket | None:
        """What can be read when another worker has given a connection to this one."""
        return None if self._place is None else self._shares.ways[self._place][1]

    def note(self, connections: int | None) -> None:
        """In the worker: say how many connections it has; None if it accepts no more."""
        if self._place is not None:
            # Zero is for a worker that accepts none, and for none at all.
            self._shares.counts[self._place] = 0 if connections is None else connections + 1

    def give(self, connection: socket.socket, connections: int) -> Given | None:
        """In the worker, which has so many `connections`: give one more to the worker with the fewest, if it has fewer.

        Returns None if `connection` is to be kept; if not, it is closed here.
        """
        counts = self._shares.counts
        counted = [(count + self._under_way(place), place) for place, count in enumerate(counts) if count]
        fewest, place = min(counted, default=(0, 0))
        if self._place is None or not counted or fewest > connections:
            return None
        looks = self._shares.looks[place]
        try:
            socket.send_fds(self._shares.ways[place][0], [b"."], [connection.fileno()])
        except OSError:  # that worker has not come for those that it has been given before, say
            return None
        connection.close()
        self._given[place] = looks, self._under_way(place) + 1
        return place, looks

    def _under_way(self, place: int) -> int:
        looks, number = self._given.get(place, (0, 0))
        return number if self._shares.looks[place] == looks else 0

    def take(self) -> Iterator[socket.socket]:
        """In the worker: the connections that others have given to it."""
        if self._place is not None:
            self._shares.looks[self._place] += 1
            yield from self._waiting(self._place)

    def take_back(self, given: Given) -> Iterator[socket.socket]:
        """In the worker, which has `given` one away: all that wait there, if their worker has not looked since."""
        place, looks = given
        if self._shares.looks[place] == looks:
            yield from self._waiting(place)

    def _waiting(self, place: int) -> Iterator[socket.socket]:
        with suppress(BlockingIOError):
            while True:
                _, descriptors, _, _ = socket.recv_fds(self._shares.ways[place][1], 1, 1)
                # None if this process has too many open files for it: that one is lost.
                yield from (socket.socket(fileno=descriptor) for descriptor in descriptors)

    def end(self) -> None:
        """In the master: the worker has ended."""
        if self._place is not None:
            self._shares.counts[self._place] = 0
            # To be the next one: whoever begins in its stead serves what it has not come for.
            self._shares.places.insert(0, self._place)


class Shares:
    """Numbers of each worker, in memory that the master makes and its workers share, and sockets from each to each.

    The master alone gives places and takes them back, and a worker writes to its own only: nobody needs a lock. There
    are so many `places`; workers beyond serve what they get.
    """

    def __init__(self, places: int) -> None:
        self.counts = memoryview(mmap.mmap(-1, places * 8)).cast("Q")
        # How often each worker has looked for connections that it has been given.
        self.looks = memoryview(mmap.mmap(-1, places * 8)).cast("Q")
        self.places = list(range(places))
        # To each place: where its worker is given connections, and where it takes them. All have both, so what one that
        # hangs or has died does not come for can be taken back.
        self.ways = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in self.places]
        for giving, taking in self.ways:
            giving.setblocking(False)
            taking.setblocking(False)

    def begin(self) -> Share:
        """In the master: the share of a worker that is about to begin."""
        return Share(self, self.places.pop(0) if self.places else None)
