"""The search of the lists of pets: ids, words of names and tags, in any case and script."""

from django.test import Client

from pets.models import Pet
from pets.services import create_pet
from tests.pets.admin.pet_pages import names


def test_a_search_finds_an_id_and_ignores_white_space_around_the_text(staff: Client) -> None:
    pet = create_pet(name="Rex")
    create_pet(name="Tom")
    create_pet(name="01890a5d-ac96-774b-bcce-b302099a8057 the second")

    for term in (pet.pk, pet.pk.upper(), f" {pet.pk}", f"{pet.pk}\n", " rex", "rex\t", "\N{NO-BREAK SPACE}rex"):
        assert names(staff, q=term) == ["Rex"]
    assert len(names(staff, q="  ")) == 3
    assert len(names(staff, q="01890a5d-ac96-774b-bcce-b302099a8057")) == 1


# Words of a query language, and letters that the databases fold in ways of their own.
ODD_TAGS = (
    *("Dog", 'the "best" dog\'s', "Große 7", "ΟΔΌΣ x", "小明", "*", "x AND NOT y", "-1", "a\ue000b"),
    *("\N{LATIN SMALL LIGATURE FI}ß 1", "\N{FULLWIDTH LATIN SMALL LETTER A} b"),
    *("e\N{COMBINING ACUTE ACCENT}", "\N{COMBINING ACUTE ACCENT}e"),
    *("a\N{ADLAM CAPITAL LETTER ALIF}b", "\N{ADLAM CAPITAL LETTER ALIF}"),
)


def test_a_search_beside_a_tag_finds_the_pets_that_both_find(staff: Client) -> None:
    Pet.objects.bulk_create(Pet(name=name, tag=tag) for tag in ODD_TAGS for name in ("Rex", "Max"))

    for tag in ODD_TAGS:
        assert names(staff, q="re", tag=tag) == ["Rex"], tag
        # SQLite finds some forms of characters as typed only.
        beside = [name for name in names(staff, tag=tag.upper()) if name == "Rex"]
        assert names(staff, q="re", tag=tag.upper()) == beside, tag
