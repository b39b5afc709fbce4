"""The search of the lists of pets: by id, by words of the name, and by tag."""

from functools import reduce
from operator import and_

from django.db.models import Q

from pets import search_index
from pets.case_insensitive import starts_with
from pets.models import Pet
from pets.search_index import Recorded
from pets.search_terms import words
from petservice.api.validators import is_id
from petservice.db.lookups import Among


def search(text: str) -> Q:
    """Return the condition that a pet has this id, a tag that begins with the text, or all of its words in the name."""
    if is_id(text.lower()) and Pet.objects.filter(pk=text.lower()).exists():
        return Q(pk=text.lower())
    recorded = Recorded()
    wanted = sorted(set(words(text)))
    named = reduce(and_, (_has_word(word, recorded) for word in wanted)) if wanted else starts_with("name", text)
    return named | _has_tag(text, recorded)


def _has_word(word: str, recorded: Recorded) -> Q:
    indexed = Q(pk__in=search_index.pets_with_word(word)) & ~Q(Among("pk", [*recorded.ids]))
    found = indexed | Q(Among("pk", recorded.with_words([word])))
    # The index of names finds names of one ASCII word, which have no terms.
    return found | starts_with("name", word) if word.isascii() else found


def _has_tag(text: str, recorded: Recorded) -> Q:
    indexed = Q(pk__in=search_index.pets_with_tag(text)) & ~Q(Among("pk", [*recorded.ids]))
    found = indexed | Q(Among("pk", recorded.with_tag(text)))
    # The index of tags finds tags of ASCII characters, which have no terms.
    return found | starts_with("tag", text) if text.isascii() else found
