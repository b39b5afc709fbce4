"""Query plans of the admin's pages: each query uses an index, so a page reads no more pets than it shows."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from pets.admin.lists import sqlite_lists
from pets.models import Pet, TrashedPet
from pets.search.words import having
from petservice.admin_pages import bounded_paginator
from tests.backoffice.staff import logged_in
from tests.pets.changes import delete, mark
from tests.query_plans import plan_of

PETS = reverse("admin:pets_pet_changelist")
TRASH = reverse("admin:pets_trashedpet_changelist")
# A list with one condition, or a period beside it. The database chooses among the indexes if there are several.
QUERIES = [
    "",
    "?q={id}",
    "?status__exact=sold",
    "?tag=dog",
    "?created_from=2026-11-01&created_to=2199-12-31",
    "?status__exact=sold&created_from=2026-11-01",
    "?tag=dog&created_from=2026-11-01",
    "?creator=staff",
    "?sold_from=2026-11-01&sold_to=2199-12-31",
    "?sold_from=2026-11-01&tag=dog",
    *(f"?o={column}" for column in ("1", "-1", "3", "-3", "4", "-4", "5", "-5")),
    *("?status__exact=sold&o=sold_at", "?status__exact=sold&o=-sold_at", "?sold_from=2000-01-01"),
]
TABLES = ("pets_pet", "journal_event", "journal_item")
# In a query for pets whose ids are known.
KNOWN_IDS = r'"id" IN \('
# In a plan that sorts all that it reads. Those that sort only the rows with one time or name stop after a page.
SORTS_ALL = "USE TEMP B-TREE FOR ORDER BY|(?<!Incremental )Sort  "


def make_pages() -> list[str]:
    """Create records of each kind, and return the addresses of the pages that show them."""
    pet = Pet.objects.create(name="Rex", tag="dog")
    Pet.objects.create(name="Tom", status="sold", created_by="staff ada")
    lists = [PETS + query.format(id=pet.pk) for query in QUERIES]
    one = [reverse(f"admin:pets_pet_{kind}", args=[pet.pk]) for kind in ("change", "history", "delete")]
    delete(User.objects.get(), Pet.objects.create(name="Max"))
    change = mark(User.objects.get(), [pet], "available")
    one += [reverse("admin:pets_trashedpet_change", args=[TrashedPet.objects.get().pk])]
    one += [reverse("admin:pets_recentchange_change", args=[change.pk]), reverse("admin:pets_recentchange_changelist")]
    one += [TRASH, f"{TRASH}?q=ma", f"{TRASH}?q={pet.pk}"]
    return [reverse("admin:index"), *lists, f"{PETS}tags/?q=d", f"{PETS}tags/", *one]


def let_indexes_pay() -> None:
    """Stop PostgreSQL from scanning and sorting small tables, and give it statistics of some thousand pets."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # The searched values are rare, so that an index pays.
            statuses = [*Pet.Status] + [Pet.Status.AVAILABLE] * 3000
            Pet.objects.bulk_create(Pet(name=f"Rex{n}", tag=f"tag {n}", status=s) for n, s in enumerate(statuses))
            cursor.execute("ANALYZE pets_pet")
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")


def queries_about(table: str, client: Client, url: str) -> list[str]:
    """Return the queries that a page sends about a table, whose name is a regular expression."""
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200, url
    return [query["sql"] for query in captured if re.search(rf'(FROM|JOIN) "{table}"', query["sql"])]


# The plan of each query about one of TABLES, by the address of its page.
Plans = dict[str, dict[str, str]]


def _plan_in_order(query: str) -> str:
    """Return the plan of a query. PostgreSQL sorts the pets of known ids, and no others."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL enable_sort = {'on' if re.search(KNOWN_IDS, query) else 'off'}")
    return plan_of(query)


@pytest.fixture(scope="module")
def plans(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Plans:
    """The plans of all pages, which several tests read, because it takes long to open all pages."""
    with django_db_blocker.unblock(), transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_lists, "_FEW", 0)  # otherwise all filters would have few pets
        client = logged_in(User.objects.create_superuser("ada"))
        pages = make_pages()
        let_indexes_pay()
        queries = {url: queries_about(f"({'|'.join(TABLES)})", client, url) for url in pages}
        found = {url: {query: _plan_in_order(query) for query in queries[url]} for url in pages}
        transaction.set_rollback(True)
    return found


def about(table: str, plans: Plans) -> dict[str, str]:
    """Return the plan of each query about a table."""
    found = {query: plan for of_a_page in plans.values() for query, plan in of_a_page.items()}
    return {query: plan for query, plan in found.items() if re.search(rf'(FROM|JOIN) "{table}"', query)}


def test_no_query_scans_a_whole_table(plans: Plans) -> None:
    assert [table for table in TABLES if not about(table, plans)] == []
    whole = rf"SCAN ({'|'.join(TABLES)})\b(?! USING)|Seq Scan on ({'|'.join(TABLES)})\b"
    assert {url: plan for url, found in plans.items() for plan in found.values() if re.search(whole, plan)} == {}


def test_the_last_changes_on_the_dashboard_are_read_in_their_order(plans: Plans) -> None:
    dashboard = plans[reverse("admin:index")].items()

    of_one_type = [plan for query, plan in dashboard if "journal_event" in query and "LIMIT 10" in query]
    assert of_one_type
    assert [plan for plan in of_one_type if re.search(SORTS_ALL, plan)] == []


def test_queries_for_pets_use_indexes_for_conditions_order_and_ids(plans: Plans) -> None:
    found = about("pets_pet", plans)

    conditional = {query: plan for query, plan in found.items() if " WHERE " in query}
    assert {query: plan for query, plan in conditional.items() if not re.search("SEARCH|Index Cond", plan)} == {}
    # Lists of known ids are sorted. On SQLite a search for several spellings sorts its results as well.
    known = {query: plan for query, plan in found.items() if re.search(KNOWN_IDS, query)}
    ordered = {query: plan for query, plan in found.items() if query not in known and "MULTI-INDEX OR" not in plan}
    assert {query: plan for query, plan in ordered.items() if re.search(SORTS_ALL, plan)} == {}
    by_id = "USING (COVERING )?INDEX sqlite_autoindex_pets_pet_1|(Scan using|Scan on) pets_pet_pkey"
    assert {query: plan for query, plan in known.items() if not re.search(by_id, plan)} == {}
    assert all((conditional, ordered, known))


def test_a_search_reads_the_full_text_index_and_only_the_pets_that_it_finds(admin_client: Client) -> None:
    Pet.objects.create(name="New York", tag="city")
    let_indexes_pay()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_sort = on")

    queries = queries_about("pets_pet", admin_client, f"{PETS}?q=york")

    found = {query: plan_of(query) for query in queries if "york" in query}
    index = r"pets_search VIRTUAL TABLE[\s\S]*SEARCH pets_pet USING INTEGER PRIMARY KEY|Index Scan on pets_pet_search"
    assert {query: plan for query, plan in found.items() if not re.search(index, plan)} == {}
    assert len(found) == 1  # the page is read by the keys


def test_a_list_without_pets_is_read_once(admin_client: Client) -> None:
    Pet.objects.create(name="Rex", tag="dog")
    Pet.objects.create(name="Tom", tag="cat", status="sold")

    queries = queries_about("pets_pet", admin_client, f"{PETS}?status__exact=sold&tag=dog")

    assert [query for query in queries if "COUNT(" in query]
    assert [query for query in queries if "ORDER BY" in query and "'sold'" in query and "dog" in query] == []


def test_lists_count_no_more_pets_than_they_display(plans: Plans) -> None:
    lists = {url: found for url, found in plans.items() if url != reverse("admin:index")}  # the dashboard counts days
    queries = about("pets_pet", lists)

    counts = [query for query in queries if "COUNT(" in query]
    assert counts
    assert [query for query in counts if f"LIMIT {bounded_paginator.MAX_COUNTED + 1}" not in query] == []


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no such statistics")
def test_a_list_does_not_read_the_table_for_conditions_that_no_pet_fits_together(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL expects that many pets fit, and that it meets them soon."""
    monkeypatch.setattr(bounded_paginator, "MAX_COUNTED", 60)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE pets_pet CASCADE")  # the gaps that other tests left would mix both kinds of pets
    Pet.objects.bulk_create(Pet(name="Rex", tag="old", status="sold") for _ in range(900))
    Pet.objects.bulk_create(Pet(name="Rex", tag="new", status="available") for _ in range(2100))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE pets_pet")

    queries = queries_about("pets_pet", admin_client, f"{PETS}?status__exact=available&tag=old")

    (count,) = queries
    assert "Seq Scan" not in plan_of(count)


# SQLite plans with the indexes alone, PostgreSQL with the statistics of its tables, which are almost empty here.
sqlite_only = pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL gathers statistics itself")


@sqlite_only
def test_the_history_of_a_pet_uses_the_index_of_records(plans: Plans) -> None:
    (history,) = [plans[url] for url in plans if url.endswith("/history/")]
    items = [plan for query, plan in history.items() if 'FROM "journal_item"' in query]
    assert {re.search("journal_record|$", plan)[0] for plan in items} == {"journal_record"}


@sqlite_only
def test_an_undo_reads_the_items_of_its_own_pets(admin_client: Client, admin_user: User) -> None:
    event = mark(admin_user, [Pet.objects.create(name="Rex")], "sold")

    with CaptureQueriesContext(connection) as captured:
        admin_client.post(reverse("admin:pets_recentchange_change", args=[event.pk]))

    later = [query["sql"] for query in captured if '"journal_item"."id" > ' in query["sql"]]
    assert later
    for query in later:
        assert "SEARCH journal_item USING INDEX journal_record" in plan_of(query)
        assert "journal_event_" not in plan_of(query)


@sqlite_only
def test_the_few_pets_of_one_filter_are_read_by_their_keys(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_lists, "_FEW", 2)
    Pet.objects.bulk_create(Pet(name="Rex", tag="dog", status="sold") for _ in range(3))
    Pet.objects.bulk_create(Pet(name="Rex", tag="bird") for _ in range(2))

    for query in ("status__exact=sold&tag=bird", "q=rex&status__exact=available&o=-status"):
        queries = queries_about("pets_pet", admin_client, f"{PETS}?{query}")

        counts = [plan_of(sql) for sql in queries if "LIMIT 10001" in sql]
        assert len(counts) == 1, query
        assert "(id=?)" in counts[0], query


@sqlite_only
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=york&creator=staff&status__exact=available", "SEARCH pets_pet USING INTEGER PRIMARY KEY "),
        ("status__exact=available&tag=city", '"\ue000available" AND ("city")'),
        ("creator=unknown&status__exact=sold", '"\ue000sold" NOT "\ue000key"'),
        ("creator=api&status__exact=sold", '"\ue000sold" AND "\ue000key"'),
        ("sold_from=2026-11-01&sold_to=2199-12-31", "INDEX pets_pet_by_sale (status=? AND sold_at>? AND sold_at<?)"),
        ("q=yo&tag=city", 'AND ("city")'),
        ("q=yo&status__exact=sold&creator=api&no_tag=1", '"\ue000sold" AND "\ue000key" AND "\ue000untagged"'),
        ("tag=city&created_from=2026-01-01&sold_from=2026-01-01&creator=api", "INDEX pets_pet_by_tag"),
        ("no_tag=1&created_from=2026-01-01&sold_from=2026-01-01", "INDEX pets_pet_by_tag"),
    ],
)
def test_a_list_with_several_conditions_looks_up_what_fits_them_together(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, query: str, expected: str
) -> None:
    monkeypatch.setattr(sqlite_lists, "_FEW", 0)
    Pet.objects.create(name="New York", tag="city")
    for creator in ("key k Acme", "staff ada"):
        Pet.objects.create(name="York", status="sold", created_by=creator)

    queries = queries_about("pets_pet", admin_client, f"{PETS}?{query}")

    read = [sql + plan_of(sql) for sql in queries if re.search("COUNT|pets_search", sql)]
    assert read
    assert [one for one in read if expected not in one] == []


@sqlite_only
def test_no_name_has_the_value_of_a_filter_for_the_index_of_words(db: None) -> None:
    pet = Pet.objects.create(name="\ue000sold", tag="dog")

    assert [*having(Pet.objects.all(), ["dog"], ["available"], ["sold"])] == [pet]


@sqlite_only
def test_a_page_of_a_list_that_many_pets_fit_is_read_in_its_order(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a tag by the index of tags, because all of them may be older than thousands with the status.

    Not those without a tag, because thousands of them may be newer than all with the status.
    """
    monkeypatch.setattr(sqlite_lists, "_FEW", 0)
    monkeypatch.setattr(bounded_paginator, "MAX_COUNTED", 60)
    values = {"name": "Rex", "status": "sold", "created_by": "key k Acme"}
    Pet.objects.bulk_create(Pet(tag=tag, **values) for tag in (None, "dog", "éclair", "eclair") for _ in range(61))

    for query, index in (
        ("q=rex&o=-created_at", "pets_pet_by_creation"),
        ("q=rex&status__exact=sold&o=created_at", "pets_pet_by_status"),
        ("q=rex&status__exact=sold&o=-status", "pets_pet_by_status"),
        ("q=rex&tag=dog&o=name", "pets_pet_by_name"),
        ("tag=dog&o=name", "pets_pet_by_name"),
        ("tag=dog&o=status", "pets_pet_by_status"),
        ("tag=dog", "pets_pet_by_tag"),
        ("tag=dog&status__exact=sold&creator=api", "pets_pet_by_tag"),
        ("tag=dog&status__exact=sold&created_from=2026-11-01", "pets_pet_by_tag"),
        ("q=rex&tag=dog&status__exact=sold&o=-created_at", "pets_pet_by_tag"),
        ("no_tag=1&status__exact=sold", "pets_pet_by_status"),
        ("tag=eclair", "pets_pet_by_creation"),
        ("tag=eclair&status__exact=sold", "pets_pet_by_status"),
    ):
        queries = queries_about("pets_pet", admin_client, f"{PETS}?{query}")

        plan, *by_id = [plan_of(sql) for sql in queries if 'ORDER BY "pets_pet"' in sql and "RECURSIVE" not in sql]
        assert f"INDEX {index}" in plan, query
        assert not re.search(SORTS_ALL, plan), query
        assert "o=" not in query or "(id=?)" in by_id[0], query

    # Of those that were sold in a period, the time of the last one to read is in the index of sales.
    monkeypatch.setattr(sqlite_lists, "_MAX_TESTED", 200)
    sold = queries_about("pets_pet", admin_client, f"{PETS}?sold_from=2026-01-01&o=-status")
    assert any("COVERING INDEX pets_pet_by_sale" in plan_of(sql) for sql in sold if '"created_at" >= (' in sql)
    assert "(id=?)" in plan_of(sold[-1])
