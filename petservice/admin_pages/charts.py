"""The geometry of the charts in the admin, in whole numbers, because these look the same in every locale."""

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

# The length of the longest bar and the width of a day's column, in units of the SVG. The SVG scales to its place.
FULL = 1000
COLUMN = 100
# The length of the shortest bar for a count above zero, in units of the SVG, so that the bar is visible.
MIN_LENGTH = 12


class Series(NamedTuple):
    """A number for each day, in words as well, and perhaps the URLs of lists."""

    counts: Mapping[date, int]
    texts: Mapping[date, str]
    urls: Mapping[date, str] | None = None
    # What part of each number is to stand out, such as the requests that failed.
    parts: Mapping[date, int] | None = None


def day_chart(*series: Series) -> dict[str, Any]:
    """Return a chart of one or two series of the same days for its template.

    It has the bars of each series, oldest first, and the largest number, whose bar has full height.
    """
    largest = max(max(one.counts.values()) for one in series)
    width = COLUMN // len(series)
    rows = [_bars(one, largest, number * width, width) for number, one in enumerate(series)]
    return {"bars": rows[0], "series": rows, "largest": largest, "width": len(rows[0]) * COLUMN}


def _bars(series: Series, largest: int, offset: int, width: int) -> list[dict[str, Any]]:
    """Return the bars of a series: the x is the left edge of the bar's column, and the y the top of the bar."""
    gap = width * 14 // COLUMN
    return [
        {
            "day": day,
            "count": count,
            "text": series.texts[day],
            "x": (x := number * COLUMN + offset),
            "width": width,
            "bar_x": x + gap,
            "bar_width": width - 2 * gap,
            "y": FULL - (height := bar_length(count, largest)),
            "height": height,
            "part_y": FULL - (part_height := bar_length(series.parts[day], largest) if series.parts else 0),
            "part_height": part_height,
            "url": series.urls[day] if series.urls else None,
        }
        for number, (day, count) in enumerate(sorted(series.counts.items()))
    ]


def bar_length(count: int, largest: int) -> int:
    """Return the length of a bar, where the largest count has full length."""
    return max(round(FULL * count / largest), MIN_LENGTH) if count else 0
