"""Changes of pets, and their undo, while others change, undo, delete or put back the same pets at the same time."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pets import services, trash, undo
from pets.fields import new_pet_id
from pets.models import IdempotencyRecord, Pet, TrashedPet
from petservice.apikeys.models import APIKey
from petservice.journal.models import Event, Item
from petservice.journal.retention import empty_trash, remove_old_events
from tests.backoffice.pages import messages, read
from tests.backoffice.staff import granted
from tests.concurrent_write import only_on_postgresql, without_waiting, write_before
from tests.pets.admin import pet_pages
from tests.pets.admin.import_export.import_pages import confirm, upload
from tests.pets.admin.pet_pages import edit, page_of
from tests.pets.admin.test_bulk_actions import act
from tests.pets.admin.test_undo import TOO_LATE
from tests.pets.changes import delete, mark, request_of
from tests.waiting import wait_until


def rexes() -> list[Pet]:
    return Pet.objects.bulk_create(Pet(name="Rex", tag="dog") for _ in range(2))


@only_on_postgresql
@pytest.mark.parametrize(("statement", "is_first"), [("FOR UPDATE", False), ('INSERT INTO "pets_pet"', True)])
def test_a_change_that_two_people_undo_at_the_same_time_is_undone_once(
    admin_client: Client, ada: User, statement: str, is_first: bool
) -> None:
    change = mark(ada, rexes(), "sold")
    others: list[Any] = []

    with write_before(statement, lambda: others.append(undo.undo(request_of(ada), change.pk))):
        response = undo_of(admin_client, change)

    assert messages(response) == ["The change of 2 pets is undone." if is_first else TOO_LATE]
    assert others == [None if is_first else (2, [])]
    assert Event.objects.filter(kind="undone").count() == 1
    assert Pet.objects.filter(status="available").count() == 2


def undo_of(client: Client, change: Event) -> Any:
    return client.post(reverse("admin:pets_recentchange_change", args=[change.pk]), follow=True)


# The statement that changes the tag of a pet, by each way to do that.
TAGGED: dict[str, tuple[str, Callable[[Client, Pet], object]]] = {
    "form": ("UPDATE", lambda client, pet: edit(client, pet, {"tag": "hound"})),
    "action": ("UPDATE", lambda client, pet: act(client, "set_tag", {}, pet, post="yes", new_tag="hound")),
    "import": ("INSERT INTO", lambda client, pet: confirm(client, upload(client, f"id,name,tag\n{pet.pk},Max,hound"))),
    "undo": ("INSERT INTO", lambda client, pet: pet_pages.undo(client, edit(client, pet, {"tag": "cat"}))),
}


@only_on_postgresql
@pytest.mark.parametrize(("statement", "change"), TAGGED.values(), ids=TAGGED)
def test_a_tag_that_someone_sets_during_a_change_is_kept(
    admin_client: Client, statement: str, change: Callable[[Client, Pet], object]
) -> None:
    pet, _ = rexes()

    with write_before(f'{statement} "pets_pet"', lambda: Pet.objects.update(tag="wolf")):
        change(admin_client, pet)

    assert Pet.objects.get(pk=pet.pk).tag == "wolf"
    assert Event.objects.exclude(kind="login").exists()


@only_on_postgresql
def test_a_form_that_waits_for_the_deletion_of_its_pet_says_who_deleted_it(admin_client: Client, ada: User) -> None:
    pet, _ = rexes()
    fields = read(admin_client, page_of(pet), "pet_form") | {"name": "Max"}

    with write_before("FOR NO KEY UPDATE", lambda: delete(ada, pet)):
        response = admin_client.post(page_of(pet), fields, follow=True)

    (told,) = messages(response)
    assert told.startswith("“Rex” was deleted by ada, ")
    assert told.endswith("Nothing was saved of what you typed: name “Max”.")


@only_on_postgresql
@pytest.mark.parametrize("is_deactivated", [True, False])
@pytest.mark.parametrize("page", ["form", "undo"])
def test_an_account_that_loses_its_permission_while_it_waits_for_a_lock_changes_nothing(
    admin_user: User, page: str, is_deactivated: bool
) -> None:
    client, (pet, _) = granted("change_pet"), rexes()
    account, change = User.objects.get(username="someone"), mark(admin_user, [pet], "sold")
    url = page_of(pet) if page == "form" else reverse("admin:pets_recentchange_change", args=[change.pk])
    fields = read(client, url, "pet_form" if page == "form" else "undo")

    def lose() -> None:
        account.user_permissions.clear()
        User.objects.filter(pk=account.pk).update(is_active=not is_deactivated)

    with write_before("FOR NO KEY UPDATE" if page == "form" else "FOR UPDATE", lose):
        response = client.post(url, fields | {"tag": "hound"})

    assert response.status_code == 403
    assert (Pet.objects.get(pk=pet.pk).status, Pet.objects.get(pk=pet.pk).tag) == ("sold", "dog")
    assert [*Event.objects.exclude(kind="login")] == [change]


@only_on_postgresql
@pytest.mark.parametrize("is_undo_first", [True, False])
def test_pets_that_one_person_puts_back_while_another_undoes_their_deletion_exist_once(
    ada: User, is_undo_first: bool
) -> None:
    change = delete(ada, *rexes())
    keys = [*change.items.values_list("pk", flat=True)]
    put_back = transaction.atomic(trash.put_back)
    works = [lambda: undo.undo(request_of(ada), change.pk)[0], lambda: len(put_back(keys)[0])]
    first, second = works if is_undo_first else works[::-1]
    later: list[int] = []

    with write_before('INSERT INTO "pets_pet"', lambda: later.append(second())):
        assert first() == 2

    assert later == [0]
    assert (Pet.objects.count(), TrashedPet.objects.count()) == (2, 0)


@only_on_postgresql
def test_a_pet_that_someone_creates_just_before_an_undo_of_its_deletion_is_left_alone(
    admin_client: Client, ada: User
) -> None:
    change = delete(ada, *rexes())
    first = change.items.earliest("pk").record_id

    with write_before('INSERT INTO "pets_pet"', lambda: Pet.objects.create(pk=first, name="Mia")):
        response = undo_of(admin_client, change)

    assert messages(response)[0].startswith("Not undone for pets that have changed since: “Rex”.")
    assert Pet.objects.get(pk=first).name == "Mia"
    assert Event.objects.filter(kind="undone", count=1).exists()


@only_on_postgresql
def test_an_import_that_a_deadlock_ends_is_repeated_until_the_other_writer_has_ended(admin_client: Client) -> None:
    old, new = Pet.objects.create(name="Rex").pk, new_pet_id()
    page = upload(admin_client, f"id,name\n{old},Max\n{new},Tom\n")

    def write_in_the_opposite_order() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL deadlock_timeout = '1min'")  # so that the import is the one that ends
            Pet.objects.create(pk=new, name="Mia")
            with transaction.atomic():
                Pet.objects.select_for_update().get(pk=old)
                transaction.set_rollback(True)
            waiting = "SELECT pid FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
            wait_until(lambda: cursor.execute(waiting).fetchone())  # the second try, for the new pet

    with write_before('INSERT INTO "pets_pet"', write_in_the_opposite_order):
        response = confirm(admin_client, page)

    assert messages(response)[0].startswith("Nothing was imported, because some of these pets were changed after the")
    assert {*Pet.objects.values_list("name", flat=True)} == {"Rex", "Mia"}


# The removal of expired rows, which changes and requests do on their way and must not wait for.


@only_on_postgresql
@pytest.mark.parametrize(
    ("rows", "remove"),
    [
        (IdempotencyRecord.objects.all(), services._delete_expired_records),
        (Item.objects.filter(in_trash_until__isnull=False), lambda now: empty_trash(now=now, beyond=0)),
        (Event.objects.filter(kind=Event.Kind.LOGIN), remove_old_events),
        (Event.objects.filter(address__isnull=False), remove_old_events),
    ],
    ids=["idempotency records", "trash", "events without records", "addresses"],
)
def test_no_removal_waits_for_another(ada: User, rows: QuerySet[Any], remove: Callable[[datetime], Any]) -> None:
    now = timezone.now()
    old = now - timedelta(days=1000)
    key, _ = APIKey.objects.create_key(name="Acme")
    services.create_pet_once(api_key=key, idempotency_key="key", name="Rex", now=old)
    delete(ada, Pet.objects.get(), now=old)
    Event.objects.create(kind=Event.Kind.LOGIN, at=old)
    assert rows.count() == 1

    with transaction.atomic():
        remove(now)
        without_waiting(transaction.atomic(lambda: remove(now)))

    assert not rows.exists()
