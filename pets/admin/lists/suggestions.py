"""The suggestions of an empty list: other lists that do have pets, also for a word with a slip."""

from collections.abc import Sequence
from difflib import get_close_matches
from urllib.parse import urlencode

from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import Q

from pets.admin.lists.filters import SOLD_DAYS
from pets.admin.lists.ordering import LAST_SOLD_FIRST, NEWEST_FIRST, indexed
from pets.models import Pet
from pets.search.words import search, words_of
from petservice.db.folding import fold

# Maximum number of words of a search that are tried by themselves.
_MAX_WORDS = 3
# Number of the newest pets whose words are compared, which takes some 50 ms.
_NEWEST = 10_000
# Number of words that are enough, because a client can give each pet many words that are like one another.
_MAX_COMPARED = 20_000
# The least likeness of two words, by difflib. One wrong letter of three lowers it to two thirds.
_LIKENESS = 0.65


# The text and the URL of a list that has at least one pet.
Suggestion = tuple[str, str]
# A filter: in words, its parameters and its condition.
Filter = tuple[str, dict[str, str], Q]


def suggestions(query: str, filters: Sequence[Filter]) -> list[Suggestion]:
    """Return other lists for one without pets, each of which costs a few steps in an index."""
    found: list[tuple[str, dict[str, str]]] = []
    if query and filters and _finds(query):
        found.append((f"Pets that “{query}” finds, without the filters", {SEARCH_VAR: query}))
    elif query:
        words = query.split()[:_MAX_WORDS]
        known = [word for word in words if _finds(word)]
        nearest = _nearest_words([word for word in words if word not in known])
        meant = " ".join(nearest.get(word, word) for word in words)
        texts = [meant] if meant != query and _finds(meant) else []
        texts += known if len(words) > 1 else []
        found += [(f"Pets that “{text}” finds", {SEARCH_VAR: text}) for text in texts]
    if query or len(filters) > 1:
        for text, parameters, condition in filters:
            # Not `exists`, because PostgreSQL would read the table until it meets one, and has an index for the last.
            order = LAST_SOLD_FIRST if parameters.keys() & set(SOLD_DAYS) else NEWEST_FIRST
            if Pet.objects.filter(condition).order_by(*indexed(order)).first():
                found.append((f"All pets: {text}", parameters))
    return [(text, f"?{urlencode(parameters)}") for text, parameters in found]


def _finds(text: str) -> bool:
    return search(Pet.objects.all(), text).exists()


def _nearest_words(unknown: Sequence[str]) -> dict[str, str]:
    """Return for each word, if there is one, the word in a name or tag of the newest pets that is most like it."""
    words: dict[str, str] = {}
    if not unknown:
        return words
    for texts in Pet.objects.order_by("-created_at", "-pk").values_list("name", "tag")[:_NEWEST]:
        for one in words_of(" ".join(filter(None, texts))):
            words.setdefault(fold(one), one)
        if len(words) >= _MAX_COMPARED:
            break
    nearest = {}
    for word in unknown:
        for one in get_close_matches(fold(word), words, n=1, cutoff=_LIKENESS):
            nearest[word] = words[one]
    return nearest
