"""The server's latency, which decides whether a call polls for a response or lets other calls run meanwhile.

Without it, a database on the same machine costs each request a fifth to a half more CPU, because to suspend a call
costs as much as the statement; or a database that is a network away halves the requests per second.
"""

# Seconds within which a response counts as prompt. To suspend a call costs about as much CPU.
PROMPT = 0.000_15
# Responses in a row that were not prompt, after which no further one is polled for. At least one response of each
# request, that to the look-up of its key, is prompt if the server is near.
MAX_SLOW_RESPONSES = 8
# Responses after which one is polled for again, to find out whether the server is near by now.
TRIAL_INTERVAL = 100


class Latency:
    """The latency of one server."""

    def __init__(self) -> None:
        # Responses since the last prompt one; those that nobody polled for count as well.
        self._slow = 0

    def should_spin(self) -> bool:
        """Return whether to poll for the next response and to `note` its time; to be asked once for each response."""
        if self._slow < MAX_SLOW_RESPONSES:
            return True
        self._slow += 1
        return self._slow % TRIAL_INTERVAL == 0

    def note(self, seconds: float) -> None:
        """Take in how long a response was polled for."""
        self._slow = 0 if seconds < PROMPT else self._slow + 1
