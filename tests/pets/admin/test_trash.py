"""The trash: deleted pets keep their values and history for 30 days, can be put back, and are listed as in a model."""

import random
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pets.admin.changes import selection
from pets.models import Pet, TrashedPet
from pets.models.journal import values_of
from petservice.journal import retention
from petservice.journal.models import Event, Item
from petservice.journal.recording import Change, add_event
from store.services import inventory_counts
from tests.backoffice.pages import fields_of, messages
from tests.backoffice.staff import granted
from tests.backoffice.test_lists_equal_sql import assert_equal, contains_each_word
from tests.pets.admin import unkind_pets
from tests.pets.admin.import_export.import_pages import confirm as confirm_import
from tests.pets.admin.import_export.import_pages import upload
from tests.pets.admin.pet_pages import edit, histories, names, undo, versions_shown
from tests.pets.admin.test_bulk_actions import act, confirm
from tests.pets.admin.test_lists_equal_sql import SEARCHES
from tests.pets.admin.test_undo import values
from tests.pets.changes import delete, request_of, sell_all

TRASH = reverse("admin:pets_trashedpet_changelist")


# The deleted pets, also those that expired.
DELETED = Item.objects.filter(in_trash_until__isnull=False)


def row_of(pet: Pet) -> Item:
    return DELETED.get(record_id=pet.pk, record_name=pet.name)


def detail(pet: Pet) -> str:
    return reverse("admin:pets_trashedpet_change", args=[row_of(pet).pk])


def put_back(client: Client, key: int, url: str = TRASH, **fields: Any) -> list[str]:
    """Put a row of the trash back, and return the messages."""
    chosen = {"action": "put_back_selected", "index": 0, "_selected_action": [key]}
    return messages(client.post(url, chosen | fields, follow=True))


def deleted(client: Client, *pets: Pet) -> None:
    confirm(client, act(client, "delete_selected", versions_shown(client), *pets))


def test_a_deleted_pet_leaves_the_api_and_the_counts_and_is_put_back_from_its_page_with_all_values(
    staff: Client, api: Client
) -> None:
    rex = Pet.objects.create(name="Rex <b>", tag="dog", created_by="key pets_test_Ab12Cd34 Acme")
    edit(staff, rex, {"status": "sold"})
    sell_all()
    before = values()

    deleted(staff, rex)

    assert api.get("/v1/pets").json() == []
    assert api.get(f"/v1/pets/{rex.pk}").status_code == 404
    assert inventory_counts()["sold"] == 0
    page = staff.get(TRASH)
    assert "_selected_action" not in fields_of(page, "changelist-form")  # only of rows that are ticked
    assert b'class="action-select" autocomplete="off"' in page.content  # so that browsers tick no other row
    newer = (row_of(rex).before or {}) | {"field_of_the_next_version": "x"}
    TrashedPet.objects.update(before=newer)  # by a newer version, which runs beside this one during an upgrade
    page = staff.get(detail(rex), {"_changelist_filters": "q=re"})
    for shown in ("Rex &lt;b&gt;", "dog", rex.pk, "Status changed from available to sold.", "API", f'{TRASH}?q=re">'):
        assert shown in page.content.decode()
    assert "Acme" not in page.content.decode()

    response, again = (staff.post(TRASH, fields_of(page, "put-back"), follow=True) for _ in range(2))

    assert messages(response) == ["Put back with all values: “Rex <b>”."]
    assert messages(again) == ["1 pet could not be put back: not in the trash any more."]
    assert "it was put back" in messages(staff.get(page.wsgi_request.path, follow=True))[0]
    assert (values(), inventory_counts()["sold"]) == (before, 1)
    assert histories(staff, rex)[0] == ("admin", "Put back from the trash.")
    event = Event.objects.with_record().get(kind=Event.Kind.RESTORED)
    assert (event.count, event.record_id, event.record_name) == (1, rex.pk, "Rex <b>")


def test_many_pets_are_put_back_except_those_whose_id_is_taken_and_none_if_they_are_too_many(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pets = Pet.objects.bulk_create(Pet(name=f"Pet {number:02}") for number in range(22))
    deleted(staff, *pets)
    Pet.objects.create(pk=pets[0].pk, name="Imported")

    all_rows = (row_of(pets[0]).pk, f"{TRASH}?q=pet")
    with monkeypatch.context() as patch:
        patch.setattr(selection, "MAX_COUNTED", 21)
        assert "You selected more than 21 pets." in put_back(staff, *all_rows, select_across=1)[0]
    assert Pet.objects.count() == 1

    assert put_back(staff, *all_rows, select_across=1) == [
        "A pet with the same ID exists already, so these stay in the trash: “Pet 00”.",
        f"Put back with all values: {', '.join(f'“Pet {n:02}”' for n in range(21, 11, -1))} and 11 more.",
    ]
    assert Pet.objects.get(pk=pets[0].pk).name == "Imported"
    assert names(staff, TRASH) == ["Pet 00"]
    assert Event.objects.values_list("count", "message").get(kind="restored") == (21, "21 pets from the trash.")


def test_a_deleted_pet_and_an_imported_one_with_its_id_are_both_in_the_trash(staff: Client) -> None:
    rex = Pet.objects.create(name="Rex", tag="dog")
    before = values()
    deleted(staff, rex)
    max_ = Pet.objects.create(pk=rex.pk, name="Max")

    deleted(staff, max_)

    assert names(staff, TRASH, q=rex.pk) == names(staff, TRASH) == ["Max", "Rex"]
    for pet in (rex, max_):
        page = staff.get(detail(pet)).content.decode()
        assert rex.pk in page
        assert page.count("<td>Deleted.</td>") == 2
        assert "None" not in page  # in place of a tag
    key = row_of(rex).pk
    taken, back = put_back(staff, key, select_across=1)
    assert taken == "A pet with the same ID exists already, so these stay in the trash: “Rex”."
    assert back == "Put back with all values: “Max”."
    assert Pet.objects.values_list("pk", "name").get() == (rex.pk, "Max")
    Pet.objects.all().delete()
    put_back(staff, key, select_across=1)
    assert (values(), TrashedPet.objects.count()) == (before, 0)


def test_each_undo_leaves_another_pet_of_the_same_id_alone(staff: Client) -> None:
    rex = Pet.objects.create(name="Rex", tag="dog")
    sell_all()
    before = values()
    first = confirm(staff, act(staff, "delete_selected", versions_shown(staff), rex))
    in_trash = TrashedPet.objects.values().get()
    imported = confirm_import(staff, upload(staff, f"id,name\n{rex.pk},Max\n"))
    second = confirm(staff, act(staff, "delete_selected", {}, rex))

    undo(staff, second)
    assert (Pet.objects.get().name, names(staff, TRASH)) == ("Max", ["Rex"])
    assert messages(undo(staff, first))[0] == "Not undone for pets that have changed since: “Rex”."

    assert messages(undo(staff, imported)) == ["The change of 1 pet is undone."]
    assert TrashedPet.objects.values().get(record_name="Rex") == in_trash
    assert messages(undo(staff, first)) == ["The change of 1 pet is undone."]
    assert (values(), inventory_counts()["sold"]) == (before, 1)
    assert histories(staff, rex)[0] == ("admin", "Undone: the deletion of this pet.")
    assert names(staff, TRASH) == ["Max"]


def test_only_accounts_that_may_delete_pets_put_them_back(staff: Client) -> None:
    rex = Pet.objects.create(name="Rex")
    deleted(staff, rex)
    page, key = detail(rex), row_of(rex).pk

    assert granted("add_pet", name="ed").get(page).status_code == 403
    for codename, may_put_back in (("view_pet", False), ("delete_pet", True)):
        client = granted("view_pet", codename, name=codename)
        assert ("put-back" in client.get(page).content.decode()) == may_put_back
        put_back(client, key)
        assert Pet.objects.exists() == may_put_back


def test_each_deletion_removes_the_values_of_a_limited_number_of_expired_pets_and_keeps_their_history(
    monkeypatch: pytest.MonkeyPatch, staff: Client
) -> None:
    monkeypatch.setattr(retention, "MAX_REMOVED", 1)
    pets = [Pet.objects.create(name=f"Pet {number}") for number in range(5)]
    for pet in pets[:4]:
        deleted(staff, pet)
    TrashedPet.objects.update(in_trash_until=timezone.now() - timedelta(days=1))

    deleted(staff, pets[4])

    assert [*DELETED.order_by("pk").values_list("record_name", flat=True)] == ["Pet 2", "Pet 3", "Pet 4"]
    assert [*Item.objects.filter(before={}).order_by("pk").values_list("record_name", flat=True)] == ["Pet 0", "Pet 1"]
    assert histories(staff, pets[0]) == [("admin", "Deleted.")]
    assert names(staff, TRASH) == ["Pet 4"]
    assert "1 deleted pet\n" in staff.get(TRASH).content.decode()
    assert [staff.get(detail(pet)).status_code for pet in pets[3:]] == [302, 200]


# The list.


def test_every_search_of_the_trash_finds_the_right_pets(staff: Client, admin_user: User) -> None:
    oldest = timezone.now() - timedelta(days=30)
    recent = [row for row in deleted_pets(admin_user) if row.event.at > oldest]
    newest_first = sorted(recent, key=lambda row: (row.event.at, row.pk), reverse=True)
    some_id = newest_first[-1].record_id
    DELETED.filter(record_name__in=[*filter(str.isascii, unkind_pets.NAMES)][::2]).update(folded_name=None)

    def expected(query: dict[str, str]) -> list[int]:
        wanted, q = query["q"].strip().lower(), query["q"]
        return [row.pk for row in newest_first if row.record_id == wanted or contains_each_word(q, [row.record_name])]

    words_without_end = " ".join(map(str, range(1000)))
    searches = (*SEARCHES, "50%_", "o'neil a.c(", words_without_end, some_id, f" {some_id.upper()}")
    assert_equal(staff, TRASH, [{"q": search} for search in searches], expected)
    DELETED.filter(record_name="Żółw Łoś").update(folded_name="żółw łoś")  # as earlier versions did
    assert_equal(staff, TRASH, [{"q": "ŻÓŁW łoś"}], expected)


def test_a_search_for_an_id_reads_no_other_deleted_pet(staff: Client, admin_user: User) -> None:
    for number in range(2):
        delete(admin_user, last := Pet.objects.create(name=f"Rex {number}"))

    with CaptureQueriesContext(connection) as captured:
        assert names(staff, TRASH, q=last.pk.upper()) == ["Rex 1"]

    of_items = [query["sql"] for query in captured if 'FROM "journal_item"' in query["sql"]]
    assert [sql for sql in of_items if '"record_id" = ' not in sql] == []


def deleted_pets(owner: User) -> QuerySet[Item]:
    """Record deletions at a few times, one older than the trash shows, and return the rows of the pets.

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
    return DELETED.select_related("event")
