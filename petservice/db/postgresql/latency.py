"""Adaptive polling: whether a request polls for PostgreSQL's response or is suspended while other requests run.

Suspending a request costs as much CPU time as a statement. If requests never polled, each would take a fifth to a half
more CPU with a database on the same machine. If they always polled, a database on another machine would halve the
number of requests per second.
"""

# Seconds within which a response counts as fast. Suspending a request costs about as much CPU time.
FAST_RESPONSE_TIME = 0.000_15
# Number of consecutive slow responses after which polling stops. If the server is near, at least one response of each
# request is fast: that to the lookup of its key.
MAX_SLOW_RESPONSES = 8
# Number of responses after which one is polled for again, to find out whether the server has become fast.
TRIAL_INTERVAL = 100


class Latency:
    """Recent response times of one database server."""

    def __init__(self) -> None:
        # Responses since the last fast one, including those without polling.
        self._slow = 0

    def should_spin(self) -> bool:
        """Return whether to poll for the next response and `note` its time. Call it once for each response."""
        if self._slow < MAX_SLOW_RESPONSES:
            return True
        self._slow += 1
        return self._slow % TRIAL_INTERVAL == 0

    def note(self, seconds: float) -> None:
        """Record how many seconds a response was polled for."""
        self._slow = 0 if seconds < FAST_RESPONSE_TIME else self._slow + 1
