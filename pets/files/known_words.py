"""The words by which files of other programs name columns and statuses, in five languages, to prefill a mapping."""

from collections.abc import Sequence
from unicodedata import normalize

from pets.files.rows import COLUMNS, column_of

# Maximum number of lines within which the header is, so that titles may stand above it.
HEADER_WITHIN = 20
# English, German, French, Spanish and Portuguese. A breed is left out, because it is no species.
_COLUMNS = {
    "name": "name, pet name, animal name, pet, called, rufname, tiername, nom, nom de l'animal, prénom, nombre, "
    "nombre del animal, nombre mascota, nome, nome do animal",
    "tag": "tag, species, type, animal type, pet type, category, art, tierart, gattung, kategorie, etikett, "
    "étiquette, espèce, catégorie, etiqueta, especie, tipo, categoría, espécie, categoria",
    "status": "status, state, availability, zustand, verfügbarkeit, statut, état, disponibilité, estado, estatus, "
    "disponibilidad, situação, disponibilidade",
    "created_at": "created at, created, date created, added, date added, date, arrived, arrival, arrival date, intake, "
    "intake date, angelegt, erstellt, aufgenommen, aufnahme, eingang, ankunft, datum, créé, créé le, ajouté, "
    "ajouté le, arrivée, date d'arrivée, creado, fecha, fecha de alta, fecha de ingreso, ingreso, llegada, criado, "
    "data, data de entrada, entrada, chegada",
}
_STATUSES = {
    "available": "available, in stock, free, verfügbar, frei, disponible, en stock, libre, disponível, livre",
    "pending": "pending, reserved, on hold, hold, reserviert, vorgemerkt, réservé, réservée, en attente, reservado, "
    "reservada, pendiente, en espera, pendente, em espera",
    "sold": "sold, adopted, rehomed, verkauft, vermittelt, abgegeben, vendu, vendue, adopté, adoptée, vendido, "
    "vendida, adoptado, adoptada, adotado, adotada",
}


def _plain(text: str) -> str:
    """Return the letters and digits of a text without accents, because programs write `Pet name` and `pet_name`."""
    return "".join(character for character in normalize("NFKD", text.casefold()) if character.isalnum())


def _by_word(lists: dict[str, str]) -> dict[str, str]:
    return {_plain(word): meaning for meaning, words in lists.items() for word in words.split(",")}


_COLUMN_OF, _STATUS_OF = _by_word(_COLUMNS), _by_word(_STATUSES)


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
