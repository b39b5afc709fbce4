"""How many connections each worker has, so that a new one goes to the worker with the fewest.

The kernel gives a new connection to whichever worker asks first, and of sixteen clients twelve may end at one worker,
where they wait for each other while the worker beside it is idle.
"""

import mmap

# Workers that are counted; those beyond take what they can get.
_PLACES = 64
_SIZE = 4


class Share:
    """What one worker has of the connections, and a look at what the others have."""

    def __init__(self, shares: "Shares", place: int | None) -> None:
        self._shares = shares
        self._place = place

    def note(self, connections: int | None) -> None:
        """In the worker: say how many connections it has; None if it accepts no more."""
        if self._place is not None:
            # Zero is for a worker that accepts none, and for none at all.
            self._shares.counts[self._place] = 0 if connections is None else connections + 1

    def is_above(self, connections: int) -> bool:
        """In the worker: whether `connections` are more than what another worker has."""
        return self._place is not None and any(0 < count <= connections for count in self._shares.counts)

    def end(self) -> None:
        """In the master: the worker has ended."""
        if self._place is not None:
            self._shares.counts[self._place] = 0
            self._shares.places.append(self._place)


class Shares:
    """A count for each worker, in memory that the master makes and its workers share.

    The master alone gives places and takes them back, and a worker writes to its own only: nobody needs a lock.
    """

    def __init__(self) -> None:
        self.counts = memoryview(mmap.mmap(-1, _PLACES * _SIZE)).cast("i")
        self.places = list(range(_PLACES))

    def begin(self) -> Share:
        """In the master: the share of a worker that is about to begin."""
        return Share(self, self.places.pop(0) if self.places else None)
