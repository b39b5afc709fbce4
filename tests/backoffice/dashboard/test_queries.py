"""The queries of the admin dashboard."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pets.models import Pet
from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from store.models import InventoryItem
from tests.backoffice.dashboard.pages import DAY, log, page
from tests.backoffice.staff import staff

pytestmark = pytest.mark.django_db


def test_the_number_of_queries_does_not_depend_on_the_number_of_pets() -> None:
    client = staff(is_superuser=True)

    def queries_with(more: int) -> int:
        Pet.objects.bulk_create(Pet(name="Rex", created_at=timezone.now() - n * DAY) for n in range(more))
        APIKey.objects.create_key(name="Acme")
        # The changed records have the same models each time, because there are queries for each model.
        log(Event.Kind.CHANGED, [*Pet.objects.all(), APIKey.objects.first(), InventoryItem.objects.first()])
        page(client)  # fills the cache of content types
        with CaptureQueriesContext(connection) as queries:
            page(client)
        return len(queries)

    assert queries_with(3) == queries_with(47)
