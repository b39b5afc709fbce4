"""The geometry of the charts in the admin, in whole numbers, because these look the same in every locale."""

from typing import Any

# The length of the longest bar and the width of a day's column, in units of the SVG. The SVG scales to its place.
FULL = 1000
COLUMN = 100
# The length of the shortest bar for a count above zero, in units of the SVG, so that the bar is visible.
MIN_LENGTH = 12


def day_chart(*series: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a chart of one or two series of the same days for its template.

    A series has a `day`, a `count` and a `text` for each day, oldest first, and perhaps the `url` of a list, or the
    `part` of the count that is to stand out, such as the requests that failed. The bar of the largest count has full
    height.
    """
    largest = max(day["count"] for days in series for day in days)
    width = COLUMN // len(series)
    gap = width * 14 // COLUMN
    for offset, days in enumerate(series):
        for number, day in enumerate(days):
            x = number * COLUMN + offset * width  # the left edge of the column of the bar
            height, part_height = (bar_length(day.get(name, 0), largest) for name in ("count", "part"))
            day |= {"x": x, "width": width, "bar_x": x + gap, "bar_width": width - 2 * gap}
            day |= {"y": FULL - height, "height": height, "part_y": FULL - part_height, "part_height": part_height}
    return {"bars": series[0], "series": series, "largest": largest, "width": len(series[0]) * COLUMN}


def bar_length(count: int, largest: int) -> int:
    """Return the length of a bar, where the largest count has full length."""
    return max(round(FULL * count / largest), MIN_LENGTH) if count else 0
