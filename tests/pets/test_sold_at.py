"""The version of a pet and the time of its sale, which the database writes, whoever changes the pet."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from pets.models import Pet
from pets.services import create_pet
from pets.undo import undo
from petservice.journal.models import Event
from tests.pets.admin.import_export.import_pages import confirm, upload
from tests.pets.admin.pet_pages import edit
from tests.pets.changes import request_of

pytestmark = pytest.mark.django_db

PAST = datetime(2026, 3, 1, 12, tzinfo=UTC)


def sell_all(at: datetime | None = PAST) -> None:
    """Sell all pets at a time, or at an unknown time."""
    Pet.objects.update(status="sold")
    Pet.objects.update(sold_at=at)  # a correction


def sold_pet(at: datetime | None = PAST) -> Pet:
    create_pet(name="Rex")
    sell_all(at)
    return Pet.objects.get()


def is_now(at: datetime | None) -> bool:
    return at is not None and abs(timezone.now() - at) < timedelta(minutes=10)


def test_a_writer_with_an_old_copy_of_a_pet_leaves_the_time_and_raises_the_present_version() -> None:
    copy = create_pet(name="Rex")
    sell_all()
    copy.name, copy.status = "Max", "sold"

    copy.save()

    assert Pet.objects.values_list("sold_at", "version").get() == (PAST, 4)


@pytest.mark.parametrize("sold_at", [PAST, None])
def test_the_undo_of_an_edit_restores_the_sale(
    admin_client: Client, admin_user: User, sold_at: datetime | None
) -> None:
    pet = sold_pet(sold_at)

    for edited, time in (({"name": "Tom"}, sold_at), ({"name": "Tom", "status": "available"}, None)):
        edit(admin_client, pet, edited)
        assert Pet.objects.get().sold_at == time
        undo(request_of(admin_user), Event.undoable().get().pk)
        assert Pet.objects.values_list("name", "status", "sold_at").get() == ("Rex", "sold", sold_at)


def test_the_undo_of_a_sale_clears_it(admin_client: Client, admin_user: User) -> None:
    edit(admin_client, create_pet(name="Rex"), {"status": "sold"})
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
