"""The admin's front page: what it counts, for whom, and at what cost."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pets.models import Pet
from pets.services import create_pet
from petservice.apikeys.models import IDLE_AFTER, SOON, APIKey
from petservice.backoffice import charts, dashboard, groups
from store.models import InventoryCounter, InventoryItem
from tests.backoffice.test_crawl import staff

pytestmark = pytest.mark.django_db

INDEX = reverse("admin:index")
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)

FIGURE = re.compile(
    r'<a href="([^"]+)">\s*<span class="label">([^<]+)</span>\s*<span class="figure">([\d,]+)</span>'
    r'(?:\s*<span class="share">([^<]+)</span>)?'
)


def page(client: Client) -> str:
    return client.get(INDEX).content.decode()


def figures(client: Client) -> dict[str, tuple[int, str]]:
    """What the page counts: by its label, the figure and the address that it leads to."""
    return {
        label: (int(figure.replace(",", "")), unescape(url)) for url, label, figure, _ in FIGURE.findall(page(client))
    }


def seen_at(now: datetime) -> dashboard.Dashboard:
    """What a superuser sees at a moment."""
    request = RequestFactory().get(INDEX)
    request.user = get_user_model()(is_superuser=True, is_staff=True)
    return dashboard.read(admin.site, request, now=now)


def granted(*codenames: str) -> Client:
    """Staff with these permissions and no other."""
    client = staff()
    user = get_user_model().objects.get(username="someone")
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return client


def log(flag: int, records: Iterable[Any], message: object = "") -> None:
    user, _ = get_user_model().objects.get_or_create(username="anna")
    LogEntry.objects.log_actions(user.pk, list(records), flag, message)


def changes(client: Client) -> list[str]:
    """The last changes, as markup."""
    return re.findall(r'<li class="(?:add|change|delete)link">.*?</li>', page(client), re.DOTALL)


def name_in(change: str) -> str:
    return unescape(re.findall(r"<bdi>(.*?)</bdi>", change)[0])


# What is counted.


def test_each_figure_equals_the_list_that_it_leads_to() -> None:
    now = timezone.now()
    for status, number in {"available": 1, "pending": 2, "sold": 3}.items():
        Pet.objects.bulk_create(Pet(name="Rex", status=status) for _ in range(number))
    kinds: list[dict[str, Any]] = [
        {"last_used_at": now},
        {"revoked_at": now},
        {"last_used_at": now, "expires_at": now + SOON - DAY},
        *2 * [{"last_used_at": now, "expires_at": now - DAY}],
        *3 * [{}],
        *4 * [{"last_used_at": now - IDLE_AFTER - DAY}],
    ]
    for fields in kinds:
        APIKey.objects.create_key(name="Acme", **fields)
    client = staff(is_superuser=True)

    shown = figures(client)

    assert [count for count, _ in shown.values()] == [1, 2, 3, 1, 2, 3, 4]
    for label, (count, url) in shown.items():
        assert client.get(url).context["cl"].result_count == count, label


@pytest.mark.parametrize(
    ("fields", "counted"),
    [
        ({"expires_at": -DAY}, "Expired"),
        ({"expires_at": -DAY, "last_used_at": -2 * IDLE_AFTER}, "Expired"),
        ({"expires_at": DAY}, f"Expire within {SOON.days} days"),
        ({"expires_at": DAY, "last_used_at": -2 * IDLE_AFTER}, f"Expire within {SOON.days} days"),
        ({"expires_at": 2 * SOON}, "Never used"),
        ({"last_used_at": -2 * IDLE_AFTER}, f"Not used for {IDLE_AFTER.days} days"),
        ({"last_used_at": -DAY}, None),
        ({"revoked_at": -DAY, "expires_at": -DAY}, None),
    ],
)
def test_a_key_counts_once_where_it_needs_the_attention(fields: dict[str, timedelta], counted: str | None) -> None:
    APIKey.objects.create_key(name="Acme", **{name: NOW + time for name, time in fields.items()})

    keys = seen_at(NOW).keys

    assert {figure.label: figure.count for figure in keys.figures if figure.count} == ({counted: 1} if counted else {})


@pytest.mark.parametrize(
    ("counts", "shares"),
    [
        ((1, 1, 2), ["25%", "25%", "50%"]),
        ((1_234_567, 0, 1), ["over 99%", "0%", "under 1%"]),
        ((0, 7, 0), ["0%", "100%", "0%"]),
    ],
)
def test_the_inventory_is_shown_with_shares(counts: tuple[int, ...], shares: list[str]) -> None:
    InventoryCounter.objects.all().delete()
    for status, count in zip(Pet.Status, counts, strict=True):
        InventoryCounter.objects.create(status=status, count=count)

    shown = FIGURE.findall(page(granted("view_inventoryitem")))

    assert [share for *_, share in shown] == shares
    assert [figure for _, _, figure, _ in shown] == [f"{count:,}" for count in counts]


def test_the_bars_of_the_inventory_are_as_long_as_their_shares() -> None:
    for status, number in {"available": 3, "pending": 1}.items():
        Pet.objects.bulk_create(Pet(name="Rex", status=status) for _ in range(number))

    available, pending, sold = (bar.width for bar in seen_at(NOW).inventory.bars)

    assert available == 3 * pending
    assert available + pending == charts.FULL
    assert sold == 0


def test_the_last_thirty_days_are_shown_with_today_and_no_more() -> None:
    for days_ago in (0, 0, 1, 29, 29, 29, 29, 30):
        Pet.objects.create(name="Rex", created_at=NOW - days_ago * DAY)

    days = seen_at(NOW).days

    assert [bar.day for bar in days.bars] == [NOW.date() - n * DAY for n in reversed(range(30))]
    assert {bar.day: bar.count for bar in days.bars if bar.count} == {
        NOW.date(): 2,
        NOW.date() - DAY: 1,
        NOW.date() - 29 * DAY: 4,
    }
    assert days.total == 7
    assert days.best == days.bars[0]


def test_the_bars_of_the_days_stand_on_one_line_as_high_as_their_counts() -> None:
    for days_ago in (0, 1, 1):
        Pet.objects.create(name="Rex", created_at=NOW - days_ago * DAY)

    bars = seen_at(NOW).days.bars

    assert all(bar.y + bar.height == charts.FULL for bar in bars)
    assert [bar.height for bar in bars[-3:]] == [0, charts.FULL, charts.FULL / 2]


def test_the_smallest_count_beside_the_greatest_can_still_be_seen() -> None:
    InventoryCounter.objects.create(status="sold", count=10**9)
    InventoryCounter.objects.create(status="pending", count=1)

    _, pending, _ = seen_at(NOW).inventory.bars

    assert pending.width == charts.MIN_LENGTH


def test_each_day_leads_to_the_pets_of_that_day_and_the_sum_to_those_of_all_days() -> None:
    Pet.objects.create(name="Rex", created_at=NOW)

    days = seen_at(NOW).days

    pets = reverse("admin:pets_pet_changelist")
    assert days.bars[-1].url == f"{pets}?created_from=2026-03-10&created_to=2026-03-10"
    assert days.url == f"{pets}?created_from={days.bars[0].day}&created_to={days.bars[-1].day}"


def test_each_day_counts_the_pets_that_its_list_shows(admin_client: Client) -> None:
    first = NOW - 29 * DAY
    # The first and the last moment of days in UTC.
    for created_at in (first.replace(hour=0), NOW.replace(hour=0), NOW.replace(hour=0) - timedelta(microseconds=1)):
        Pet.objects.create(name="Rex", created_at=created_at)

    days = seen_at(NOW).days

    assert [bar.count for bar in days.bars] == [1, *[0] * 27, 1, 1]
    for count, url in [(days.total, days.url), *((bar.count, bar.url) for bar in days.bars)]:
        assert admin_client.get(url).context["cl"].result_count == count, url


def test_the_drawing_of_the_days_is_told_in_words() -> None:
    now = timezone.now()
    for _ in range(2):
        Pet.objects.create(name="Rex", created_at=now - DAY)
    day = now - DAY

    shown = page(granted("view_pet"))

    assert f"<title>2 pets on {day.day} {day:%B %Y}</title>" in shown
    assert shown.count("<title>0 pets on ") == dashboard.DAYS - 1
    assert re.search(rf"2 pets</a> in the last {dashboard.DAYS} days", shown)


# For whom.


@pytest.mark.parametrize(
    ("group", "sees_keys"), [(groups.PETS_AND_INVENTORY, False), (groups.PETS_INVENTORY_AND_KEYS, True)]
)
def test_only_those_who_look_after_keys_see_that_there_are_any(group: str, sees_keys: bool) -> None:
    log(CHANGE, [APIKey.objects.create_key(name="Acme")[0]], "Renamed.")

    shown = page(staff(group))

    assert ("API key" in shown) == ("Acme" in shown) == ("state=" in shown) == sees_keys
    assert "Inventory" in shown
    assert "Pets created per day" in shown


@pytest.mark.parametrize(
    ("codename", "parts"),
    [
        ("view_inventoryitem", {"inventory", "changes"}),
        ("change_inventoryitem", {"inventory", "changes"}),
        ("view_pet", {"days", "changes"}),
        ("change_pet", {"days", "changes"}),
        ("view_apikey", {"keys", "changes"}),
        ("view_group", {"changes"}),
        ("add_pet", set()),
        ("delete_pet", set()),
    ],
)
def test_each_part_is_for_those_who_may_view_what_it_counts(codename: str, parts: set[str]) -> None:
    create_pet(name="Rex")
    APIKey.objects.create_key(name="Acme")

    shown = page(granted(codename))

    assert set(re.findall(r'<h2 id="(\w+)-title">', shown)) == parts


def test_staff_without_any_right_are_told_whom_to_ask() -> None:
    log(CHANGE, [create_pet(name="Rex")])

    shown = page(staff())

    assert "have been given no rights yet" in shown
    assert "Ask an administrator" in shown
    assert "Rex" not in shown
    assert "<h2" not in shown


def test_the_pages_of_one_app_are_django_s_own(admin_client: Client) -> None:
    assert "Last changes" not in admin_client.get(reverse("admin:app_list", args=["pets"])).content.decode()


# With nothing.


def test_the_page_of_an_empty_database_says_how_to_begin() -> None:
    shown = page(staff(is_superuser=True))

    assert "There are no pets yet" in shown
    assert f'<a href="{reverse("admin:pets_pet_add")}">add the first one</a>' in shown
    assert "There are no API keys yet" in shown
    assert f'<a href="{reverse("admin:apikeys_apikey_add")}">Create the first one</a>' in shown
    assert f"No pets were created in the last {dashboard.DAYS} days" in shown
    assert "None yet." in shown


def test_staff_who_may_not_add_are_not_sent_to_do_so() -> None:
    shown = page(granted("view_pet", "view_inventoryitem", "view_apikey"))

    assert "There are no pets yet" in shown
    assert "There are no API keys yet" in shown
    assert "first one" not in shown


# The last changes.


def test_the_last_ten_changes_of_all_staff_are_shown_newest_first() -> None:
    client = staff(is_superuser=True)
    pets = [create_pet(name=f"Pet {number}") for number in range(8)]
    log(ADDITION, pets)
    log(CHANGE, [get_user_model().objects.get(username="someone")])
    log(CHANGE, [APIKey.objects.create_key(name="Acme")[0]])
    log(CHANGE, InventoryItem.objects.filter(pk=pets[0].pk))

    shown = [name_in(change) for change in changes(client)]

    assert len(shown) == dashboard.CHANGES
    assert shown[0] == "Pet 0"
    assert shown[1].startswith("Acme")
    assert shown[2] == "someone"
    assert shown[3:] == [f"Pet {number}" for number in range(7, 0, -1)]


def test_a_change_tells_who_has_done_what_and_when() -> None:
    pet = create_pet(name="Rex")
    log(CHANGE, [pet], [{"changed": {"fields": ["Name", "Tag"]}}])
    LogEntry.objects.update(action_time=NOW)

    (change,) = changes(granted("view_pet"))

    assert f'<a href="{reverse("admin:pets_pet_change", args=[pet.pk])}"><bdi>Rex</bdi></a>' in change
    assert "Changed Name and Tag." in change
    assert "<bdi>anna</bdi>" in change
    assert '<time datetime="2026-03-10T12:00:00+00:00">10 March 2026, 12:00 UTC</time>' in change


@pytest.mark.parametrize(
    ("flag", "message", "told"),
    [
        (ADDITION, [{"added": {}}], "Added."),
        (ADDITION, "Follows Acme.", "Added. Follows Acme."),
        (CHANGE, "Revoked.", "Revoked."),
        (CHANGE, "", "Changed."),
        (DELETION, "", "Deleted."),
    ],
)
def test_a_change_is_told_in_words_and_not_by_its_icon_alone(flag: int, message: object, told: str) -> None:
    log(flag, [create_pet(name="Rex")], message)

    (change,) = changes(granted("view_pet"))

    assert f'<span class="what">{told}</span>' in change


def test_a_deletion_has_no_link() -> None:
    stays, goes = create_pet(name="Stays"), create_pet(name="Goes")
    log(CHANGE, [stays, goes])
    log(DELETION, [goes])
    Pet.objects.filter(pk=goes.pk).delete()

    linked = [(name_in(change), "<a " in change) for change in changes(granted("view_pet"))]

    assert linked == [("Goes", False), ("Goes", True), ("Stays", True)]


def test_changes_that_others_may_see_do_not_push_out_one_s_own() -> None:
    log(CHANGE, [create_pet(name="Rex")])
    log(CHANGE, [APIKey.objects.create_key(name="Acme")[0]] * 2 * dashboard.CHANGES)

    assert [name_in(change) for change in changes(staff(groups.PETS_AND_INVENTORY))] == ["Rex"]


def test_the_link_of_a_change_to_a_record_that_is_gone_says_so(admin_client: Client) -> None:
    goes = create_pet(name="Goes")
    log(CHANGE, [goes, Pet(id="nonsense", name="Rex")])
    Pet.objects.all().delete()

    urls = re.findall(r'<a href="(/admin/pets/pet/[^"]+)"', "".join(changes(staff(is_superuser=True))))

    assert len(urls) == 2
    for url in urls:
        assert "Perhaps it was deleted?" in admin_client.get(url, follow=True).content.decode()


def test_markup_in_names_and_messages_is_shown_as_text() -> None:
    pet = create_pet(name="<b>Tom</b> & Co")
    log(CHANGE, [pet], "Now <i>older</i>.")
    log(CHANGE, [pet], [{"changed": {"name": "tag", "object": "<u>x</u>", "fields": ["Name"]}}])
    get_user_model().objects.filter(username="anna").update(username="<s>anna</s>")

    shown = page(granted("view_pet"))

    assert not re.search("<[bisu]>", shown)
    assert "&amp;lt;" not in shown
    for text in ("&lt;b&gt;Tom&lt;/b&gt; &amp; Co", "Now &lt;i&gt;older&lt;/i&gt;.", "&lt;u&gt;x", "&lt;s&gt;anna"):
        assert text in shown


# At what cost.


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
