"""The tags in use. Each takes one step in the index of tags."""

from collections.abc import Iterator

from django.db import connection

from pets.search.case_insensitive import LAST, beginnings, case_insensitive_sql, full_width, has_one_spelling
from petservice.db.folding import fold

# Maximum number of tags that a page suggests: more than a person reads.
_MAX_SUGGESTIONS = 20
_TAGS = """
    WITH RECURSIVE tags (tag) AS (
        SELECT (SELECT tag FROM pets_pet WHERE {tag} >= {text} AND {tag} < {text} ORDER BY {tag} LIMIT 1)
        UNION ALL
        SELECT (SELECT tag FROM pets_pet WHERE {tag} > {last} AND {tag} < {text} ORDER BY {tag} LIMIT 1)
        FROM tags AS previous WHERE previous.tag IS NOT NULL
    )
    SELECT tag FROM tags WHERE tag IS NOT NULL
"""


def tags_starting_with(text: str) -> list[str]:
    """Return some tags in use with the prefix `text`, in any case, in order."""
    tags: dict[str, str] = {}  # by their case-insensitive form
    for tag in _tags(_beginnings(text)):
        if len(tags) < _MAX_SUGGESTIONS and fold(tag).startswith(fold(text)):
            tags.setdefault(fold(tag), tag)
    return list(tags.values())


def spellings_in_use(text: str) -> list[str]:
    """Return the tags in use that equal `text`, in any case and form of its characters, and maybe `text` itself.

    Those that the database takes as equal are one.
    """
    folded = fold(text)
    is_exact = has_one_spelling(text) and text.casefold() == folded and "ss" not in folded
    # The database finds all tags like `text` itself, unless a character has another form.
    others = _tags(beginnings(full_width(folded)) if is_exact else _beginnings(text))
    return [*([text] if is_exact else []), *(tag for tag in others if fold(tag) == folded)]


def _beginnings(text: str) -> list[str]:
    """Return beginnings that include all texts that begin with `text` in any form of its characters."""
    prefix = fold(text).partition("ss")[0]  # which may be ß
    return [*dict.fromkeys(beginnings(prefix) + beginnings(full_width(prefix)))]


def _tags(texts: list[str]) -> Iterator[str]:
    """Yield the tags that begin with one of several texts, once for all that the database takes as equal."""
    tag, text, last = map(case_insensitive_sql, ("tag", "%s", "previous.tag"))
    with connection.cursor() as cursor:
        for first in texts:
            cursor.execute(_TAGS.format(tag=tag, text=text, last=last), [first, first + LAST, first + LAST])
            yield from (found for (found,) in cursor.fetchall())
