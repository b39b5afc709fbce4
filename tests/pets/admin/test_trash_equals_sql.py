"""The list of the trash equals a plain model, for names in many scripts, equal times and each search and page."""

import random
from datetime import timedelta
from itertools import product
from typing import Any

from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pets.models import TrashedPet
from tests.pets.admin import unkind_pets
from tests.pets.admin.list_model import NAME_ORDER, PAGE, folded

TRASH = reverse("admin:pets_trashedpet_changelist")
SEARCHES = (
    *("", "rex", " REX ", "new york", "york", "n", "strasse", "große strasse", "żółw Ł", "барсик р", "БАРСИК", "小明"),
    *("ｒｅｘ", "épée", "50% o", "50%_", "o'neil a.c(", "x" * 40 + "b", "nothing"),
)


def test_every_search_and_page_of_the_trash_shows_the_right_pets(staff: Client) -> None:
    pets = deleted_pets()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM pets_trashedpet ORDER BY {NAME_ORDER}")
        names = [str(pk) for (pk,) in cursor.fetchall()]
    times = sorted(pets, key=lambda pk: (pets[pk].deleted_at, pk), reverse=True)
    oldest = timezone.now() - timedelta(days=30)
    some_id = next(pk for pk in names if pets[pk].deleted_at > oldest)
    wrong = []
    for search, page in product((*SEARCHES, some_id, f" {some_id.upper()}"), ("", "2")):
        text = search.strip()
        expected = [
            pk
            for pk in (names if text else times)
            if pets[pk].deleted_at > oldest and (text.lower() == pk or folded(pets[pk].name).startswith(folded(text)))
        ]
        start = PAGE * (min(int(page or 1), max(1, -(-len(expected) // PAGE))) - 1)

        found = staff.get(TRASH, {"q": search, "p": page} if page else {"q": search}).context["cl"]

        if (found.result_count, [pet.pk for pet in found.result_list]) != (
            len(expected),
            expected[start : start + PAGE],
        ):
            wrong.append(f"{search}, page {page}: {found.result_count}, not {len(expected)}")

    assert not wrong, "\n".join(wrong)


def deleted_pets() -> dict[str, TrashedPet]:
    """Create deleted pets with many equal times, a few of them older than the trash shows, and return them by id."""
    choose, now = random.Random(9), timezone.now()
    times = [now - timedelta(days=days, seconds=choose.randrange(3600)) for days in (1, 2, 3, 29, 31)]
    pets: list[Any] = [
        TrashedPet(
            id=unkind_pets.new_id(choose),
            name=name,
            status="sold",
            created_at=now,
            deleted_at=choose.choice(times),
            deleted_by="ada",
        )
        for name in unkind_pets.NAMES * 8
    ]
    TrashedPet.objects.bulk_create(pets)
    return {pet.pk: pet for pet in pets}
