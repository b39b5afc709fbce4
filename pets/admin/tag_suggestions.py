"""The tags that pages suggest while staff type."""

from django.db.models import F, Value
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, LessThan

from pets.case_insensitive import CaseInsensitive, ranges
from pets.models import Pet

# Maximum number of tags that a page suggests: more than a person reads.
_MAX_SUGGESTIONS = 20


def tags_starting_with(text: str) -> list[str]:
    """Return some tags in use with the prefix `text`, in any case, in order. Each takes one step in the index."""
    tags: dict[str, str] = {}  # by their case-insensitive form
    field = CaseInsensitive(F("tag"))
    for first, end in ranges(text):
        pets = Pet.objects.order_by(field).values_list("tag", flat=True).filter(LessThan(field, end))
        # A query has one lower bound, because SQLite would begin each step at the first of two bounds.
        tag = pets.filter(GreaterThanOrEqual(field, first)).first()
        while tag is not None and len(tags) < _MAX_SUGGESTIONS:
            tags.setdefault(tag.casefold(), tag)
            tag = pets.filter(GreaterThan(field, CaseInsensitive(Value(tag)))).first()
    return list(tags.values())
