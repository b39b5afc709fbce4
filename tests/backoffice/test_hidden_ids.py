"""Staff without rights cannot find out which records exist: the pages of a record answer all ids alike."""

import re
import uuid
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone

from pets import trash
from pets.models import ChangeSet, Pet, TrashedPet
from petservice.accounts.models import Account
from petservice.apikeys.models import APIKey
from petservice.audit.models import AuditEntry
from store.models import InventoryItem
from tests.backoffice.staff import staff

pytestmark = [pytest.mark.django_db, pytest.mark.once]

MISSING = {int: 10**6, str: "018f0000-0000-7000-8000-000000000000", uuid.UUID: uuid.UUID(int=1)}


@pytest.fixture
def records() -> dict[type[Model], Any]:
    """Return a record of each model with pages in the admin."""
    user = User.objects.create_user("ada")
    deleted = Pet.objects.create(name="Tom")
    trash.move([deleted], deleted_by="staff", now=timezone.now())
    pet = Pet.objects.create(name="Rex")
    change_set = ChangeSet.objects.create(
        kind=ChangeSet.Kind.values[0], summary="Marked.", count=1, owner_id=user.pk, permissions="pets.change_pet"
    )
    return {
        User: user,
        Account: Account.objects.get(pk=user.pk),
        Group: Group.objects.create(name="Vets"),
        APIKey: APIKey.objects.create_key(name="Acme")[0],
        AuditEntry: AuditEntry.objects.create(kind=AuditEntry.Kind.LOGIN),
        Pet: pet,
        InventoryItem: InventoryItem.objects.get(pk=pet.pk),
        TrashedPet: TrashedPet.objects.get(),
        ChangeSet: change_set,
    }


def urls_of(model: type[Model], pk: Any) -> list[str]:
    """Return the URLs of a record's pages."""
    patterns = admin.site._registry[model].urls
    names = {
        pattern.name for pattern in patterns if re.search(r"<(path:object_id|(\w+:)?(pk|id))>", str(pattern.pattern))
    }
    return [reverse(f"admin:{name}", args=[pk]) for name in sorted(filter(None, names))]


def test_the_pages_of_a_record_answer_staff_without_rights_alike_for_all_ids(records: dict[type[Model], Any]) -> None:
    assert set(records) == set(admin.site._registry)
    client = staff()
    unlike = []
    for model, record in records.items():
        urls = urls_of(model, record.pk)
        assert len(urls) >= 3
        for existing, missing in zip(urls, urls_of(model, MISSING[type(record.pk)]), strict=True):
            for send in (client.get, client.post):
                statuses = [send(url).status_code for url in (existing, missing)]
                if statuses[0] != statuses[1]:
                    unlike.append((existing, send.__name__, statuses))

    assert unlike == []
