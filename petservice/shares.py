"""How many connections each worker has, and how a new one gets to the worker with the fewest.

The kernel gives a new connection to whichever worker asks first: of two clients both may end at one worker, and of
sixteen twelve, where they wait for each other while the worker beside it is idle.
"""

import mmap
import socket

# Workers that are counted; those beyond serve what they get.
_PLACES = 32
_SIZE = 4


class Share:
    """What one worker has of the connections, and its way to the others."""

    def __init__(self, shares: "Shares", place: int | None) -> None:
        self._shares = shares
        self._place = place
        # To whom it has given connections: the count that it saw there, and how many it has given since. They are not
        # in that count before their worker has come for them.
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

    def give(self, connection: socket.socket, connections: int) -> int | None:
        """In the worker, which has so many `connections`: give one more to the worker with the fewest, if it has fewer.

        Returns the place of that worker, and None if `connection` is to be kept; if not, it is closed here.
        """
        counted = [(self._expected(place), place) for place, count in enumerate(self._shares.counts) if count]
        fewest, place = min(counted, default=(0, 0))
        if self._place is None or not counted or fewest > connections:
            return None
        try:
            socket.send_fds(self._shares.ways[place][0], [b"."], [connection.fileno()])
        except OSError:  # that worker has not come for those that it has been given before, say
            return None
        connection.close()
        count = self._shares.counts[place]
        self._given[place] = count, fewest - count + 1
        return place

    def _expected(self, place: int) -> int:
        count = self._shares.counts[place]
        seen, given = self._given.get(place, (count, 0))
        return count + given if seen == count else count

    def take(self, place: int | None = None) -> socket.socket | None:
        """In the worker: the next connection that another has given to it, None if there is none.

        With a `place`, one that has been given to the worker there.
        """
        place = self._place if place is None else place
        if place is None:
            return None
        try:
            _, descriptors, _, _ = socket.recv_fds(self._shares.ways[place][1], 1, 1)
        except BlockingIOError:
            return None
        return socket.socket(fileno=descriptors[0]) if descriptors else None

    def end(self) -> None:
        """In the master: the worker has ended."""
        if self._place is not None:
            self._shares.counts[self._place] = 0
            self._shares.places.append(self._place)


class Shares:
    """A count for each worker, in memory that the master makes and its workers share, and sockets from each to each.

    The master alone gives places and takes them back, and a worker writes to its own only: nobody needs a lock.
    """

    def __init__(self) -> None:
        self.counts = memoryview(mmap.mmap(-1, _PLACES * _SIZE)).cast("i")
        self.places = list(range(_PLACES))
        # To each place: where its worker is given connections, and where it takes them. All have both, so what one that
        # hangs or has died does not come for can be taken back.
        self.ways = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in self.places]
        for giving, taking in self.ways:
            giving.setblocking(False)
            taking.setblocking(False)

    def begin(self) -> Share:
        """In the master: the share of a worker that is about to begin."""
        return Share(self, self.places.pop(0) if self.places else None)
