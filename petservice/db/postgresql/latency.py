"""How soon the server answers, which decides whether a call waits for that or gives way to others."""

# Seconds. Giving way costs about as much of the CPU: a server on the same machine answers sooner, and one that is a
# network away does not.
PROMPT = 0.000_15
# So many answers in a row that were not prompt are no accident. Of a server that is near, at least the look-up of a key
# is prompt, which comes with each request.
ENOUGH = 8
# Of so many answers one is waited for though it is not expected to be prompt, to find out whether that still holds.
TRIAL = 100


class Pace:
    """That of one server."""

    def __init__(self) -> None:
        # Answers since the last prompt one; of those that nobody waited for it is not known.
        self._slow = 0

    def is_prompt(self) -> bool:
        """Whether to wait for the answer that comes next, and `note` how long it took; asked once for each."""
        if self._slow < ENOUGH:
            return True
        self._slow += 1
        return self._slow % TRIAL == 0

    def note(self, seconds: float) -> None:
        """Take in for how long an answer was waited for."""
        self._slow = 0 if seconds < PROMPT else self._slow + 1
