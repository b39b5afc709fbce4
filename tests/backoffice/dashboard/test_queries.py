"""The queries of the admin's front page."""

import re

import pytest
from django.contrib.admin.models import CHANGE
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pets.models import Pet
from petservice.apikeys.models import APIKey
from store.models import InventoryItem
from tests.backoffice.dashboard.front_page import DAY, log, page
from tests.backoffice.staff import staff

pytestmark = pytest.mark.django_db


def test_the_page_asks_as_much_at_three_pets_as_at_three_hundred() -> None:
    client = staff(is_superuser=True)

    def queries_with(more: int) -> int:
        Pet.objects.bulk_create(Pet(name="Rex", created_at=timezone.now() - n * DAY) for n in range(more))
        APIKey.objects.create_key(name="Acme")
        # Of the same kinds each time: whether what was changed is still there is asked of each kind.
        log(CHANGE, [*Pet.objects.all(), APIKey.objects.first(), InventoryItem.objects.first()])
        page(client)  # looks up what it then knows: the types of what is changed
        with CaptureQueriesContext(connection) as queries:
            page(client)
        return len(queries)

    assert queries_with(3) == queries_with(297)


def test_the_page_reads_no_table_of_pets_or_changes_from_end_to_end() -> None:
    client = staff(is_superuser=True)
    pets = Pet.objects.bulk_create(Pet(name="Rex") for _ in range(300))
    log(CHANGE, pets)
    # Newer than them all: what a database has to pass if it looks for them backwards through the log.
    log(CHANGE, [APIKey.objects.create_key(name="Acme")[0]] * 1000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    with CaptureQueriesContext(connection) as queries:
        page(client)

    asked = [query["sql"] for query in queries if query["sql"].startswith("SELECT")]
    for query in asked:
        assert not re.search(r"(SCAN|Seq Scan on) (pets_pet|django_admin_log)", plan(query)), query
    of_one_type = [query for query in asked if "django_admin_log" in query and "LIMIT" in query]
    assert of_one_type
    for query in of_one_type:
        assert not re.search(r"Filter|Sort|TEMP B-TREE", plan(query)), query


def plan(query: str) -> str:
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # So small a table is read whole, if that is allowed.
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"{explain} {query}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())
