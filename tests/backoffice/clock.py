"""The clock of this process in tests of days and of sessions."""

from datetime import timedelta

import pytest
from django.utils import timezone


class Clock:
    """A clock that only the test moves, so that no second, quarter of an hour or midnight passes between its steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = timezone.now()
        monkeypatch.setattr(timezone, "now", lambda: self.now)

    def advance(self, time: timedelta) -> None:
        self.now += time
