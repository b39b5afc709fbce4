"""The geometry of the dashboard's charts, in whole numbers, which are written alike in every language."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

# The drawings' units: they are stretched to the room that there is.
FULL = 1000
COLUMN = 100
# The shortest bar of a count that is not zero, so that it can be seen.
MIN_LENGTH = 12


@dataclass(frozen=True)
class StatusBar:
    """A bar for the number of pets with one status."""

    label: str
    count: int
    share: str
    width: int
    url: str


@dataclass(frozen=True)
class DayBar:
    """A bar for the number of pets created on one day; `x` is where its column begins, `y` where the bar does."""

    day: date
    count: int
    x: int
    y: int
    height: int
    url: str


def status_bar(label: str, count: int, total: int, url: str) -> StatusBar:
    """Return the bar of a status that `count` of `total` pets have."""
    return StatusBar(label, count, _share(count, total), _length(count, total), url)


def day_bars(counts: Mapping[date, int], urls: Mapping[date, str]) -> list[DayBar]:
    """Return a bar for each day, oldest first, the highest of full height."""
    largest = max(counts.values())
    return [
        DayBar(
            day=day,
            count=count,
            x=number * COLUMN,
            y=FULL - _length(count, largest),
            height=_length(count, largest),
            url=urls[day],
        )
        for number, (day, count) in enumerate(sorted(counts.items()))
    ]


def _share(count: int, total: int) -> str:
    """Return a share in whole percent, but never 0% of something nor 100% of less than all."""
    percent = 100 * count / (total or 1)
    if 0 < percent < 1:
        return "under 1%"
    return "over 99%" if 99 < percent < 100 else f"{percent:.0f}%"


def _length(count: int, largest: int) -> int:
    return max(round(FULL * count / largest), MIN_LENGTH) if count else 0
