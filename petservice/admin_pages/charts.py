"""The geometry of the charts in the admin, in whole numbers, because these look the same in every locale."""

from collections.abc import Mapping
from datetime import date
from operator import itemgetter
from typing import Any

# The length of the longest bar and the width of a day's column, in units of the SVG. The SVG scales to its place.
FULL = 1000
COLUMN = 100
# The length of the shortest bar for a count above zero, in units of the SVG, so that the bar is visible.
MIN_LENGTH = 12


def day_chart(
    counts: Mapping[date, int],
    texts: Mapping[date, str],
    *,
    parts: Mapping[date, int] | None = None,
    urls: Mapping[date, str] | None = None,
) -> dict[str, Any]:
    """Return a chart for its template: a bar for each day, oldest first, and the highest one, which has full height.

    `texts` names each number in words. The x of a bar is the left edge of its column, its y the top of the bar. The
    lowest `part_height` of a bar is for a part of the things, such as the requests that failed.
    """
    largest = max(counts.values())
    bars = [
        {
            "day": day,
            "count": count,
            "text": texts[day],
            "x": number * COLUMN,
            "y": FULL - (height := bar_length(count, largest)),
            "height": height,
            "part_y": FULL - (part_height := bar_length(parts[day], largest) if parts else 0),
            "part_height": part_height,
            "url": urls[day] if urls else None,
        }
        for number, (day, count) in enumerate(sorted(counts.items()))
    ]
    best = max(bars, key=itemgetter("count", "day"))
    return {"bars": bars, "best": best, "width": len(bars) * COLUMN}


def percentage(count: int, total: int) -> str:
    """Return a percentage without decimals, where 0% means none and 100% means all."""
    percent = 100 * count / (total or 1)
    if 0 < percent < 1:
        return "under 1%"
    return "over 99%" if 99 < percent < 100 else f"{percent:.0f}%"


def bar_length(count: int, largest: int) -> int:
    """Return the length of a bar, where the largest count has full length."""
    return max(round(FULL * count / largest), MIN_LENGTH) if count else 0
