"""Pets that are unkind to lists: frequent and rare words and tags, equal times, scripts, accents, blanks, midnight."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from uuid import UUID

from pets import creator
from pets.models import Pet
from pets.trash import write_with_sales

# A zone whose clocks change at midnight: 24 April begins at one o'clock, and 29 October has its last hour twice.
ZONE = "Africa/Cairo"
TIMES = [
    datetime(2026, *moment, tzinfo=UTC)
    for moment in (
        (4, 22, 12),
        (4, 23, 21, 59, 59, 999_999),  # the last moment of 23 April
        (4, 23, 22),  # the first moment of 24 April
        (4, 24, 20, 59, 59, 999_999),
        (4, 24, 21),
        (10, 29, 20, 30),
        (10, 29, 21, 30),  # the same time of the clock, an hour later
        (10, 29, 21, 59, 59, 999_999),
        (10, 29, 22),  # the first moment of 30 October
        (11, 20, 21, 59, 59, 999_999),
        (11, 20, 22),
    )
]
# The id of no pet, which begins a name.
NO_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
# So many that more than 10,000, which a list counts, are called Rex.
MANY = 11_200
NAMES = (
    *("Rex", "rex", "  Rex  ", "Rexona", "T-Rex", "Ｒｅｘ", "New York", "newton", "Anna-Lena", "O'Neil a.c("),
    *("Żółw Łoś", "Große Straße", "STRASSE", "Épée", "E\N{COMBINING ACUTE ACCENT}pée", "İzmir", "50% off_"),
    *("🦊kitten 😀", "Барсик", "БАРСИК Рекс", "小明的狗", "たまちゃん", "हिन्दी", "สุนัข", "x" * 40 + "a", "x" * 40 + "b"),
    *("Ångström-Épée", "Φίλος", "Константинополь", "Ｒｅｘ Ⅱ", "\u1100\u1161\u11bc\u110b\u1161\u110c\u1175"),
)
TAGS = (
    *(None, "dog", "Dog", "r", "unknown", "cat", " cat ", "cat!", "«cat»", "ｃａｔ", "Éclair", "собака", "СОБАКА"),
    *("Straße", "STRASSE", "strasse", "犬", "_", "eclair ", "E\N{COMBINING ACUTE ACCENT}clair", "éclairs", "New  York"),
    # Words of a query language, and letters that the databases fold in ways of their own.
    *('the "best" dog\'s', "Große 7", "ΟΔΌΣ x", "*", "x AND NOT y", "-1", "a\ue000b"),
    *("\N{LATIN SMALL LIGATURE FI}ß 1", "\N{FULLWIDTH LATIN SMALL LETTER A} b", "\N{COMBINING ACUTE ACCENT}e"),
    *("a\N{ADLAM CAPITAL LETTER ALIF}b", "\N{ADLAM CAPITAL LETTER ALIF}"),
    # Letters with accents that no single character has together, in two ways, and half-width kana with a mark.
    *("Ọ\N{COMBINING GRAVE ACCENT}kẹ", "o\N{COMBINING DOT BELOW}\N{COMBINING GRAVE ACCENT}ke", "ウサギ", "ｳｻｷﾞ"),
    *("Йод", "и\N{COMBINING BREVE}од", "иод", "\N{LATIN SMALL LIGATURE FI}n", "FIN", "newyork", "ＺŻ", "zz"),
)
CREATORS = (
    creator.of_key("pets_test_Ab12Cd34", "Acme"),
    creator.of_staff("key holder"),
    creator.of_command("import_pets"),
    None,
)


def new_id(choose: random.Random) -> str:
    """Return a random id, which is not in the order of creation."""
    return str(UUID(int=choose.getrandbits(128), version=4))


def create() -> list[Pet]:
    """Create the pets, in no order, and return them."""
    choose = random.Random(34)
    pets = [
        Pet(
            id=new_id(choose),
            name=name,
            tag=tag,
            # Few pets are pending.
            status=choose.choices(("available", "sold", "pending"), (70, 28, 2))[0],
            created_at=choose.choice(TIMES),
            created_by=choose.choice(CREATORS),
        )
        for name, tag in _texts()
    ]
    for pet in pets:
        pet.sold_at = choose.choice([*TIMES, None]) if pet.status == Pet.Status.SOLD else None
    choose.shuffle(pets)
    write_with_sales(pets)
    return [*Pet.objects.all()]  # because PostgreSQL gives the pets in Python times of sale that are unknown


def _texts() -> Iterator[tuple[str, str | None]]:
    """Yield names and tags."""
    yield from product(NAMES, TAGS)
    for number in range(10):
        yield f"Pip {number}", "Guinea pig"
    # More tags with one beginning than a page suggests.
    for number in range(120):
        yield "Шарик", f"Собака {number}"
    # Nine of ten are called Rex, and half have two words that begin with the same letter.
    for number in range(MANY):
        rex = "Rex " if number % 10 else ""
        yield f"{rex}{'Abe Adam' if number % 2 else 'Bert'} {number % 97}", "dog" if number % 5 else None
    for number in range(50):
        yield f"Bert Rex Abe {number}", "pair"
    yield f"{NO_ID} the second", None
