"""The word that someone meant by a word that no pet has."""

from collections.abc import Iterable
from difflib import get_close_matches

from pets.models import Pet
from pets.search.words import words_of
from petservice.db.folding import fold

# Number of the newest pets whose words are compared, which takes some 50 ms.
_NEWEST = 10_000
# Number of words that are enough, because a client can give each pet many words that are like one another.
_MAX_WORDS = 20_000
# The least likeness of two words, by difflib. One wrong letter of three lowers it to two thirds.
_LIKENESS, _LIKENESS_OF_SHORT, _SHORT = 0.75, 0.65, 4


def nearest_words(unknown: Iterable[str]) -> dict[str, str]:
    """Return for each word, if there is one, the word in a name or tag of the newest pets that is most like it."""
    words: dict[str, str] = {}
    for texts in Pet.objects.order_by("-created_at", "-pk").values_list("name", "tag")[:_NEWEST]:
        for one in words_of(" ".join(filter(None, texts))):
            words.setdefault(fold(one), one)
        if len(words) >= _MAX_WORDS:
            break
    nearest = {}
    for word in unknown:
        likeness = _LIKENESS_OF_SHORT if len(word) <= _SHORT else _LIKENESS
        for one in get_close_matches(fold(word), words, n=1, cutoff=likeness):
            nearest[word] = words[one]
    return nearest
