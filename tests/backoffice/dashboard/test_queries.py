"""The queries of the admin dashboard."""

import re

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
from tests.query_plans import plan_of

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


def test_the_dashboard_scans_no_table_of_pets_or_changes() -> None:
    client = staff(is_superuser=True)
    pets = Pet.objects.bulk_create(Pet(name="Rex") for _ in range(300))
    log(Event.Kind.CHANGED, pets)
    # These events are newer, so a database that scans the journal backwards has to pass them.
    log(Event.Kind.CHANGED, [APIKey.objects.create_key(name="Acme")[0]] * 1000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")  # otherwise it scans such a small table

    with CaptureQueriesContext(connection) as queries:
        page(client)

    selects = [query["sql"] for query in queries if query["sql"].startswith("SELECT")]
    for query in selects:
        assert not re.search(r"(SCAN|Seq Scan on) (pets_pet|journal_event)(?! USING)", plan_of(query)), query
    of_one_type = [query for query in selects if "journal_event" in query and "LIMIT 10" in query]
    assert of_one_type
    for query in of_one_type:
        assert not re.search(r"Sort|TEMP B-TREE", plan_of(query)), query
