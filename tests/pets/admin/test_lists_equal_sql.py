"""Lists, actions and exports of unkind pets equal a plain model, for many combinations of parameters."""

import json
import random
from collections.abc import Iterator
from itertools import cycle, islice, product
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.test import Client

from pets.admin.lists import sqlite_lists
from pets.models import Pet
from petservice.admin_pages import bounded_paginator
from petservice.configuration.time_zone import zone
from tests.pets.admin import list_model, unkind_pets
from tests.pets.admin.import_export.import_pages import EXPORT, JSON, exported
from tests.pets.admin.list_model import MAX_COUNTED, ListModel, difference
from tests.pets.admin.pet_pages import LIST, listed
from tests.pets.admin.test_bulk_actions import act, confirm

SEARCHES = (
    *(
        "",
        "rex",
        "\N{NO-BREAK SPACE}rex\t",
        " REX adam",
        "s",
        "a",
        "abe bert",
        "bert rex abe 4",
        "york new",
        "straß",
        "барсик",
        "x" * 40 + "a",
    ),
    *("ork", "york x", "ÅNGSTRÖM épé", "ΦΊΛΟΣ", "Константинов", "😀 KIT", "Ⅱ rex", "nothing", "rex dog", "pip pig"),
    *("strass grosse", "СОБАК", "cat", " «CAT»! ", "ｃａｔ", "ＲＥＸ", "ÉCL", "eclair r", "épée", "epee", "izm", "İz"),
    *("e\N{COMBINING ACUTE ACCENT}p", "йод", "zołw", "小明", "हिन्दी", "สุ", "犬", "- ' (", "50% o", "o neil", "강아"),
)
STATUSES = ("", "available", "pending", "sold")
_TAGS = (
    *("dog", "Guinea Pig", "Собака", "собака 77", "pair", "STRASSE", "cat", " cat ", "éclair", "ECLAIR", "犬"),
    *("йод", "fin", "new york ", "zŻ", "ọ\N{COMBINING GRAVE ACCENT}KE", "ウサギ"),
    *('The "Best" dog\'s', "große 7", "οδός x", "*", "x and not y", "-1", "a\ue000b", "fiß 1", "a b"),
    *("\N{COMBINING ACUTE ACCENT}e", "a\N{ADLAM CAPITAL LETTER ALIF}b", "\N{ADLAM CAPITAL LETTER ALIF}"),
)
TAGS: tuple[dict[str, str], ...] = ({}, {"no_tag": "1"}, *({"tag": tag} for tag in _TAGS))
DAYS: tuple[dict[str, str], ...] = (
    *({}, {}, {"created_to": "9999-12-31"}, {"created_from": "2026-04-24"}, {"created_to": "2026-10-29"}),
    *({"created_from": day, "created_to": day} for day in ("2026-04-23", "2026-04-24", "2026-10-29")),
    *({"sold_to": "9999-12-31"}, {"sold_from": "2026-04-24"}, {"sold_to": "2026-10-29", "created_from": "2026-04-23"}),
    *({"sold_from": day, "sold_to": day} for day in ("2026-04-24", "2026-10-29")),
)
CREATORS = ("", "", "", "api", "staff", "import", "unknown")
ORDERS = ("", "name", "-name", "status", "-status", "created_at", "-created_at", "sold_at", "-sold_at")
PAGES = ("", "0", "2", "20", "999")
# Maximum numbers of pets that an action changes, and of those that most actions here change.
MAX_CHANGED, FEW = 10_000, 500

Query = dict[str, str]


@pytest.fixture(scope="module")
def unkind(django_db_setup: None, django_db_blocker: Any) -> Iterator[ListModel]:
    """A model of the lists of unkind pets, which are in the database while the tests of this module run."""
    with django_db_blocker.unblock(), transaction.atomic():
        pets = unkind_pets.create()
        yield ListModel(pets, unkind_pets.ZONE)
        transaction.set_rollback(True)


@pytest.fixture
def model(unkind: ListModel, settings: Any, db: None) -> ListModel:
    settings.STORE_TIME_ZONE = zone(unkind_pets.ZONE)
    return unkind


def many_queries() -> list[Query]:
    """Return every fourth pair of a search and a tag, with a status, some days, a creator, an order and a page.

    The first ones have more pets than a list counts, with a search and a filter or with two filters, in each order.
    """
    choose = random.Random(8)
    days, dogs = ("9999-12-31", "2026-11-20"), {"tag": "dog", "status__exact": "available"}
    found = [{"q": "rex", "created_to": day, "o": order, "p": "21"} for order, day in product(ORDERS[1:], days)]
    found += [{"created_to": day, "o": order, "p": "20"} for order, day in product(ORDERS[1:], days)]
    found += [dogs | {"o": order, "p": page} for order, page in product(ORDERS[1:], ("2", "20"))]
    # The eighth page of those that were sold has the second of the times at which pets were created.
    found += [{"sold_to": "9999-12-31", "o": order, "p": page} for order, page in product(ORDERS[1:], ("20", "8"))]
    for search, tag in islice(product(SEARCHES, TAGS), None, None, 4):
        others = {"creator": choose.choice(CREATORS), "o": choose.choice(ORDERS), "p": choose.choice(PAGES)}
        query = {"q": search, **tag, "status__exact": choose.choice(STATUSES), **choose.choice(DAYS), **others}
        found.append({name: value for name, value in query.items() if value})
    return found


def some_queries(model: ListModel, number: int) -> list[Query]:
    """Return some queries that few pets fit, and those where a search or a filter has more pets than a list."""
    many: list[Query] = [{"q": "rex", "status__exact": "pending"}, {"tag": "dog", "q": "a"}, {"q": "rex"}]
    few = [query for query in many_queries() if 1 <= len(model.ids(query)) <= FEW]
    return [*many, *random.Random(3).sample(few, number)]


def test_many_combinations_of_search_filters_order_and_page_list_the_right_pets(
    model: ListModel, staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = []
    limits = "_MAX_TESTED", "_FEW", "_MAX_OF_DAYS"
    usual = MAX_COUNTED, *(getattr(sqlite_lists, name) for name in limits)
    a_pet = model.ids({})[0]
    texts = a_pet, f" {a_pet.upper()}\n", unkind_pets.NO_ID
    ids = [{"q": text} | days for days, text in product(({}, {"created_from": "2026-11-20"}), texts)]
    ends = [{"q": pet.name} | days for days in DAYS[2:8] for pet in model.ends(days) for _ in range(2)]
    for number, query in enumerate([*many_queries(), *ids, *ends]):
        # Every second list with low limits, so that several filters together find more pets than it counts.
        maximum, *lower = (1000, 400, 50, 700) if number % 2 else usual
        for module in (list_model, bounded_paginator):
            monkeypatch.setattr(module, "MAX_COUNTED", maximum)
        for name, limit in zip(limits, lower, strict=True):
            monkeypatch.setattr(sqlite_lists, name, limit)
        found = listed(staff, **query)  # without its HTML, which takes longer than all else
        wrong += difference(query, (str(found.result_count), [pet.pk for pet in found.result_list]), model.shown(query))

    assert not wrong, "\n".join([f"{len(wrong)} lists", *wrong])


def test_an_export_has_exactly_the_pets_of_the_list(model: ListModel, staff: Client) -> None:
    wrong = []
    for query in some_queries(model, 9):
        expected = model.ids(query)
        parameters = f"?{urlencode(query)}"
        page = staff.get(f"{EXPORT}{parameters}").content.decode()
        file = exported(staff, JSON, parameters)
        if len(expected) > MAX_COUNTED:
            assert f"The list has more than {MAX_COUNTED:,} pets." in page
            assert f"The list has more than {MAX_COUNTED:,} pets." in file.content.decode()
            continue
        assert f"Download {len(expected):,} pet" in page
        found = [pet["id"] for pet in json.loads(file.content)]
        wrong += difference(query, (str(len(found)), found), (str(len(expected)), expected))

    assert not wrong, "\n".join(wrong)


ACTIONS: dict[str, dict[str, str]] = {"set_tag": {"new_tag": "New tag"}, "delete_selected": {}}


def tags() -> dict[str, str | None]:
    return dict(Pet.objects.values_list("pk", "tag"))


@pytest.mark.long
def test_an_action_on_all_pets_of_a_list_changes_exactly_these(model: ListModel, staff: Client) -> None:
    before = tags()
    wrong = []
    for query, (action, fields) in zip(some_queries(model, 12), cycle(ACTIONS.items()), strict=False):
        ids, url = model.ids(query), f"{LIST}?{urlencode(query)}"
        with transaction.atomic():
            page = act(staff, action, {}, Pet(pk=ids[0]), url=url, select_across="1")
            if page.status_code == 200:  # it asks
                confirm(staff, page, url, **fields)
            after = tags()
            transaction.set_rollback(True)
        changed = sorted(pk for pk in before if after.get(pk, "deleted") != before[pk])
        expected = sorted(ids) if len(ids) <= MAX_CHANGED else []
        wrong += difference(query, (action, changed), (action, expected))

    assert not wrong, "\n".join(wrong)
