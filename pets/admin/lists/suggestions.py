"""The suggestions of a search without pets: other searches that do find some, also for a word with a slip."""

from collections.abc import Sequence
from itertools import chain, islice
from urllib.parse import urlencode

from django.contrib.admin.views.main import SEARCH_VAR
from rapidfuzz import fuzz, process

from pets.models import Pet
from pets.search.words import search, words_of
from petservice.db.folding import without_accents

# Maximum number of words of a search that are tried by themselves.
_MAX_WORDS = 3
# Number of the newest pets whose words are compared, which takes some 50 ms, and of those that are split together. A
# call for each pet could take several times as long, because Python may need new memory for each.
_NEWEST, _TOGETHER = 10_000, 200
# Number of words that are enough, because a client can give each pet many words that are like one another.
_MAX_COMPARED = 20_000
# The least likeness of two words, in percent. One wrong letter of three lowers it to two thirds.
_LIKENESS = 65


def suggestions(query: str) -> list[tuple[str, str]]:
    """Return the texts and URLs of lists of all pets that a search finds, each of which costs a few steps in an index.

    It is this search if only the filters of the list are in its way, or else those for a part or the nearest of it.
    """
    texts = [query] if _finds(query) else _near(query)
    return [(f"All pets that “{text}” finds", f"?{urlencode({SEARCH_VAR: text})}") for text in texts]


def _near(query: str) -> list[str]:
    """Return searches for the words of a search that finds nothing, or for those that were probably meant."""
    words = query.split()[:_MAX_WORDS]
    better = {word: word for word in words if _finds(word)}
    nearest = _nearest_words([word for word in words if word not in better])
    better |= {word: near for word, near in nearest.items() if _finds(near)}
    meant = " ".join(better.get(word, word) for word in words)
    texts = [meant] if meant != query and _finds(meant) else []
    # Each once, because two words may have the same nearest one.
    return texts + ([*dict.fromkeys(better[word] for word in words if word in better)] if len(words) > 1 else [])


def _finds(text: str) -> bool:
    return search(Pet.objects.all(), text).exists()


def _nearest_words(unknown: Sequence[str]) -> dict[str, str]:
    """Return for each word, if there is one, the word in a name or tag of the newest pets that is most like it."""
    if not unknown:
        return {}
    newest = iter(Pet.objects.order_by("-created_at", "-pk").values_list("name", "tag")[:_NEWEST])
    found: dict[str, None] = {}
    while len(found) < _MAX_COMPARED and (some := [*islice(newest, _TOGETHER)]):
        found |= dict.fromkeys(words_of(" ".join(filter(None, chain.from_iterable(some)))))
    # Together, as above. Of several that are equally like a word, the first one is taken, of one of the newest pets.
    plain = dict(zip(found, without_accents("\n".join(found)).split("\n"), strict=False))
    nearest = {}
    for word in unknown:
        if best := process.extractOne(without_accents(word), plain, scorer=fuzz.ratio, score_cutoff=_LIKENESS):
            nearest[word] = best[2]
    return nearest
