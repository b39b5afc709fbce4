"""The comparison of account names as people read them."""

import unicodedata
from typing import Any

from django.core.exceptions import ValidationError

from petservice.accounts.models import Account
from petservice.folding import fold

# Scripts with letters that look like those of another one, as Unicode names them.
_ALIKE = frozenset({"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE"})


def validate_new(name: str, *, besides: Any = None) -> None:
    """Refuse a name that differs from that of another account only in case or in the form of its characters.

    Python compares, because the databases know other letters. Accounts are few. Older ones may have such names.
    """
    for other in Account.objects.exclude(pk=besides).values_list("username", flat=True):
        if fold(other) == fold(name):
            raise ValidationError(f"There is already an account with the name “{other}”. Choose another name.")


def warning(name: str) -> str:
    """Return a warning about a name with letters of several scripts that look alike, or an empty text."""
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in name if letter.isalpha()} & _ALIKE
    if len(scripts) < 2:
        return ""
    return (
        f"The user name “{name}” has letters of several scripts: {', '.join(sorted(map(str.capitalize, scripts)))}. "
        "Some look alike, so check that no one can take this account for another."
    )
