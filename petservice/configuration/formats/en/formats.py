"""One style for dates and times, with the zone: 2026-11-23 12:38 UTC."""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = "Y-m-d H:i T"
