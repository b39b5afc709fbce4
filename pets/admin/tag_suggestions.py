"""The tags in use. Each takes one step in the index of tags."""

from collections.abc import Iterator
from itertools import islice

from django.db.models import F, Value
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, LessThan

from pets.case_insensitive import CaseInsensitive, ranges
from pets.models import Pet

# Maximum number of tags that a page suggests: more than a person reads.
_MAX_SUGGESTIONS = 20
# Maximum number of tags that are compared with one tag.
_MAX_COMPARED = 100


def tags_starting_with(text: str) -> list[str]:
    """Return some tags in use with the prefix `text`, in any case, in order."""
    tags: dict[str, str] = {}  # by their case-insensitive form
    for tag in islice(_tags(text), _MAX_COMPARED):
        if len(tags) < _MAX_SUGGESTIONS and tag.casefold().startswith(text.casefold()):
            tags.setdefault(tag.casefold(), tag)
    return list(tags.values())


def spellings_in_use(text: str) -> list[str]:
    """Return the tags in use that differ from `text` only in case."""
    return [tag for tag in islice(_tags(text), _MAX_COMPARED) if tag.casefold() == text.casefold()]


def _tags(text: str) -> Iterator[str]:
    """Yield each tag that begins with the part of `text` that an index supports."""
    field = CaseInsensitive(F("tag"))
    for first, end in ranges(text):
        pets = Pet.objects.order_by(field).values_list("tag", flat=True).filter(LessThan(field, end))
        # A query has one lower bound, because SQLite would begin each step at the first of two bounds.
        tag = pets.filter(GreaterThanOrEqual(field, first)).first()
        while tag is not None:
            yield tag
            tag = pets.filter(GreaterThan(field, CaseInsensitive(Value(tag)))).first()
