"""The words by which files of other programs name columns and statuses, in five languages, to prefill a mapping."""

import json
from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

from pets.files.rows import COLUMNS, column_of

# Maximum number of lines within which the header is, so that titles may stand above it.
HEADER_WITHIN = 20


def _plain(text: str) -> str:
    """Return the letters and digits of a text without accents, because programs write `Pet name` and `pet_name`."""
    return "".join(character for character in normalize("NFKD", text.casefold()) if character.isalnum())


def _by_word(words: dict[str, list[str]]) -> dict[str, str]:
    return {_plain(word): meaning for meaning, known in words.items() for word in known}


# English, German, French, Spanish and Portuguese. Breeds have no word, because a breed is no species.
_WORDS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_COLUMN_OF, _STATUS_OF = _by_word(_WORDS["columns"]), _by_word(_WORDS["statuses"])


def known_column(name: str) -> str:
    """Return the column that a name in a file probably stands for, or an empty text."""
    return own if (own := column_of(name)) in COLUMNS else _COLUMN_OF.get(_plain(name), "")


def known_status(word: str) -> str:
    """Return the status that a word probably stands for, or an empty text."""
    return _STATUS_OF.get(_plain(word), "")


def known_columns(cells: Sequence[str]) -> int:
    """Return how many columns the cells of a line probably name."""
    return len({known_column(cell) for cell in cells} - {""})


def likely_header(lines: Sequence[Sequence[str]]) -> int:
    """Return the position of the line that probably names the columns.

    It is the first one with the most known names. Where none has one, it is the first one with the most cells.
    """

    def rank(position: int) -> tuple[int, int]:
        known = known_columns(lines[position])
        return known, 0 if known else sum(bool(column_of(cell)) for cell in lines[position])

    return max(range(len(lines)), key=rank, default=0)
