"""The list of the trash equals a plain model, for names in many scripts, equal times and each search and page."""

import random
from datetime import timedelta
from itertools import product

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pets.models import Pet, TrashedPet
from pets.models.journal import values_of
from petservice.journal.models import Event
from petservice.journal.recording import Change, add_event
from tests.pets.admin import unkind_pets
from tests.pets.admin.list_model import PAGE, difference, folded
from tests.pets.admin.pet_pages import listed
from tests.pets.changes import request_of

TRASH = reverse("admin:pets_trashedpet_changelist")
SEARCHES = (
    *("", "rex", " REX ", "new york", "york", "n", "strasse", "große strasse", "żółw Ł", "барсик р", "БАРСИК", "小明"),
    *("ｒｅｘ", "épée", "50% o", "50%_", "o'neil a.c(", "x" * 40 + "b", "nothing"),
)


def test_every_search_and_page_of_the_trash_shows_the_right_pets(staff: Client, admin_user: User) -> None:
    rows = deleted_pets(admin_user)
    times = sorted(rows, key=lambda key: (rows[key].event.at, key), reverse=True)
    oldest = timezone.now() - timedelta(days=30)
    some_id = next(rows[key].record_id for key in reversed(times) if rows[key].event.at > oldest)
    wrong = []
    for search, page in product((*SEARCHES, some_id, f" {some_id.upper()}"), ("", "2", "99")):
        text = search.strip()
        expected = [
            key
            for key in times
            for row in [rows[key]]
            if row.event.at > oldest
            and all(word in folded(row.record_name) or word in row.record_id for word in folded(text).split())
        ]
        start = PAGE * (min(int(page or 1), max(1, -(-len(expected) // PAGE))) - 1)

        query = {"q": search, "p": page} if page else {"q": search}
        found = listed(staff, TRASH, **query)
        shown = found.result_count, [found.page_num, *(row.pk for row in found.result_list)]

        right = [start // PAGE + 1, *expected[start : start + PAGE]]
        wrong += difference(query, shown, (len(expected), right))

    assert not wrong, "\n".join(wrong)


def deleted_pets(owner: User) -> dict[int, TrashedPet]:
    """Record deletions at a few times, one older than the trash shows, and return the rows of the pets by their keys.

    Other rows of the journal are no deleted pets.
    """
    choose, now = random.Random(9), timezone.now()
    values = {"status": "sold", "version": 1, "sold_at": now}
    pets = [Pet(id=unkind_pets.new_id(choose), name=name, **values) for name in unkind_pets.NAMES * 8]
    choose.shuffle(pets)
    for number, days in enumerate((1, 2, 3, 29, 31)):
        at = now - timedelta(days=days, seconds=choose.randrange(3600))
        changes = [Change(pet.pk, pet.name, values_of(pet)) for pet in pets[number::5]]
        add_event(request_of(owner), Event.Kind.DELETED, target=Pet, changes=changes, now=at)
    for other in ({"after": {"name": "Rex"}}, {"before": {"name": "Tom"}, "after": {"name": "Rex"}}, {}):
        add_event(request_of(owner), Event.Kind.CHANGED, target=Pet, changes=[Change(pets[0].pk, "Rex", **other)])
    return TrashedPet.objects.select_related("event").in_bulk()
