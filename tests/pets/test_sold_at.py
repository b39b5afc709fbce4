"""The version of a pet and the time of its sale, which the database writes, whoever changes the pet."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from pets import trash
from pets.models import Pet, TrashedPet
from pets.services import create_pet
from pets.undo import undo
from petservice.journal.models import Event
from tests.pets.admin.import_export.import_pages import confirm, upload
from tests.pets.admin.pet_pages import LIST, edit
from tests.pets.changes import delete, request_of

pytestmark = pytest.mark.django_db

PAST = datetime(2026, 3, 1, 12, tzinfo=UTC)


def sell_all(at: datetime | None = PAST) -> None:
    """Sell all pets at a time, or at an unknown time."""
    Pet.objects.update(status="sold")
    Pet.objects.update(sold_at=at)  # a correction


def sold_pet(at: datetime | None = PAST) -> Pet:
    create_pet(name="Rex")
    sell_all(at)
    return Pet.objects.get(sold_at=at)


def is_now(at: datetime | None) -> bool:
    return at is not None and abs(timezone.now() - at) < timedelta(minutes=10)


def test_a_writer_with_an_old_copy_of_a_pet_leaves_the_time_and_raises_the_present_version() -> None:
    copy = create_pet(name="Rex")
    sell_all()
    copy.name, copy.status = "Max", "sold"

    copy.save()

    assert Pet.objects.values_list("sold_at", "version").get() == (PAST, 4)


def test_a_pet_that_is_put_back_keeps_its_version(admin_user: User) -> None:
    pet = sold_pet()
    delete(admin_user, pet)

    trash.put_back([TrashedPet.objects.get().pk])

    assert Pet.objects.get().version == pet.version


CHANGES: dict[str, Callable[[Client, Pet], object]] = {
    "edit": lambda client, pet: edit(client, pet, {"status": "available", "name": "Tom"}),
    "import": lambda client, pet: confirm(client, upload(client, f"id,name,status\n{pet.pk},Tom,available\n")),
    "deletion": lambda client, pet: client.post(
        LIST, {"action": "delete_selected", "_selected_action": pet.pk, "post": "1"}
    ),
}


@pytest.mark.parametrize("sold_at", [PAST, None])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_undo_restores_the_sale(
    change: Callable[[Client, Pet], object], sold_at: datetime | None, admin_client: Client, admin_user: User
) -> None:
    pet = sold_pet(sold_at)
    change(admin_client, pet)
    assert not Pet.objects.filter(sold_at__isnull=False).exists()

    undo(request_of(admin_user), Event.undoable().get().pk)

    back = Pet.objects.get()
    assert (back.pk, back.status, back.name, back.sold_at) == (pet.pk, "sold", "Rex", sold_at)


def test_the_undo_of_a_sale_clears_it_and_the_undo_of_a_name_keeps_it(admin_client: Client, admin_user: User) -> None:
    pet = sold_pet()
    edit(admin_client, pet, {"name": "Tom"})
    undo(request_of(admin_user), Event.undoable().get().pk)
    assert Pet.objects.get().sold_at == PAST

    Pet.objects.update(status="available")
    admin_client.post(LIST, {"action": "mark_as_sold", "_selected_action": pet.pk})
    assert is_now(Pet.objects.get().sold_at)
    undo(request_of(admin_user), Event.undoable().get().pk)

    assert Pet.objects.get().sold_at is None


def test_an_import_sells_new_pets_now_and_changed_ones_only_by_their_status(admin_client: Client) -> None:
    pet = sold_pet()

    page = upload(admin_client, f"id,name,status\n{pet.pk},Tom,sold\n,New,sold\n,Other,available\n")
    confirm(admin_client, page)

    times = dict(Pet.objects.values_list("name", "sold_at"))
    assert times["Tom"] == PAST
    assert is_now(times["New"])
    assert times["Other"] is None
