"""The store's time zone: its times and days on the pages of the admin, also when the clocks change."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pets.models import Pet
from petservice.apikeys.models import APIKey
from petservice.configuration.time_zone import in_days, zone
from petservice.journal.models import Event
from tests.apikeys.forms import ADD as NEW_KEY
from tests.apikeys.forms import FORM as KEY
from tests.backoffice.clock import Clock
from tests.backoffice.pages import csv_rows, fields_of, submit
from tests.pets.admin.import_export.import_pages import CSV, exported
from tests.pets.admin.pet_pages import LIST, names, page_of

AUDIT = reverse("admin:journal_event_changelist")
AUCKLAND, LOS_ANGELES, BERLIN = "Pacific/Auckland", "America/Los_Angeles", "Europe/Berlin"
HOUR = timedelta(hours=1)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


# Of years that are over, because zones change their rules for those to come.
@pytest.mark.parametrize(
    ("name", "day", "hours"),
    [
        (BERLIN, date(2024, 10, 27), 25),
        ("Africa/Cairo", date(2024, 4, 26), 23),  # begins at one o'clock
        ("Africa/Cairo", date(2024, 10, 31), 25),  # has the hour before midnight twice
        ("America/Havana", date(2024, 11, 3), 25),  # has the hour after midnight twice
        ("America/St_Johns", date(2010, 11, 6), 25),  # the clocks go back over midnight, at one minute past
    ],
)
@pytest.mark.django_db
def test_a_day_when_the_clocks_change_has_each_pet_once(name: str, day: date, hours: int) -> None:
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC) - 24 * HOUR
    Pet.objects.bulk_create(Pet(name="Rex", created_at=begin + n * HOUR / 2) for n in range(144))

    def count(first: date, last: date) -> int:
        with timezone.override(zone(name)):
            return Pet.objects.filter(in_days("created_at", first, last)).count()

    before, after = day - timedelta(days=1), day + timedelta(days=1)
    assert count(day, day) == 2 * hours
    assert count(date.min, before) + count(day, day) + count(after, date.max) == 144


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "day", "expected"),
    [
        (AUCKLAND, "2099-01-01", datetime(2099, 1, 1, 10, 59, 59, tzinfo=UTC)),
        (LOS_ANGELES, "2099-01-01", datetime(2099, 1, 2, 7, 59, 59, tzinfo=UTC)),
        ("Africa/Cairo", "2037-10-29", datetime(2037, 10, 29, 21, 59, 59, tzinfo=UTC)),
    ],
)
def test_staff_set_the_expiry_of_a_key_by_their_clock(
    admin_client: Client, settings: Any, name: str, day: str, expected: datetime
) -> None:
    settings.STORE_TIME_ZONE = zone(name)
    abbreviation = expected.astimezone(settings.STORE_TIME_ZONE).tzname()
    form = admin_client.get(NEW_KEY).content.decode()
    assert f"the end of its day ({name})" in form
    assert f'data-zone="{name}"' in form
    assert 'data-admin-utc-offset="' in form

    # A day takes the place of a lifetime.
    page = admin_client.post(NEW_KEY, KEY | {"lifetime": "30", "expires_at": day}).content.decode()

    key = APIKey.objects.get()
    assert key.expires_at == expected
    assert f"expires on {day} 23:59 {abbreviation}" in page
    change = reverse("admin:apikeys_apikey_change", args=[key.pk])
    fields = fields_of(admin_client.get(change), "apikey_form")
    assert fields["expires_at"] == day
    assert day in admin_client.get(reverse("admin:apikeys_apikey_changelist")).content.decode()


@pytest.mark.once
def test_an_expiry_that_exists_twice_stays_until_staff_change_it(admin_client: Client, settings: Any) -> None:
    settings.STORE_TIME_ZONE = zone(BERLIN)
    first = datetime(2037, 10, 25, 0, 30, 0, 5, tzinfo=UTC)
    key, _ = APIKey.objects.create_key(name="Acme", expires_at=first)
    url = reverse("admin:apikeys_apikey_change", args=[key.pk])

    submit(admin_client, url, "apikey_form", {"name": "Acme shop"})

    assert APIKey.objects.values_list("name", "expires_at").get() == ("Acme shop", first)
    submit(admin_client, url, "apikey_form", {"expires_at": "2099-12-24"})
    change = "Expiry changed from 2037-10-25 02:30:00 CEST to 2099-12-24 23:59:59 CET."
    assert Event.objects.latest("pk").message == change


@pytest.mark.parametrize("name", [AUCKLAND, LOS_ANGELES])
def test_times_at_both_ends_of_the_calendar_are_shown_and_found(admin_client: Client, settings: Any, name: str) -> None:
    settings.STORE_TIME_ZONE = zone(name)
    pets = [Pet.objects.create(name="Rex", created_at=at) for at in (FIRST, LAST)]
    APIKey.objects.create_key(name="Acme", expires_at=LAST)

    assert len(names(admin_client, created_from="0001-01-01", created_to="9999-12-31")) == 2
    for day in ("0001-01-01", "9999-12-31"):
        assert not admin_client.get(AUDIT, {"day_from": day, "day_to": day}).context["page"].object_list
    keys = reverse("admin:apikeys_apikey_changelist")
    for url in (LIST, *map(page_of, pets), keys, reverse("admin:apikeys_apikey_change", args=[1])):
        assert admin_client.get(url, follow=True).status_code == 200


@pytest.mark.once
def test_exports_have_times_in_utc_and_are_named_by_the_day_of_the_store(
    admin_client: Client, settings: Any, clock: Clock
) -> None:
    settings.STORE_TIME_ZONE = zone("Pacific/Kiritimati")
    today = clock.now.astimezone(settings.STORE_TIME_ZONE).date()
    pet = Pet.objects.create(name="Rex")

    pets = exported(admin_client, CSV)
    audit = admin_client.post(reverse("admin:journal_event_export"), query_params={"day_from": str(today)})

    assert pet.created_at.isoformat() in pets.content.decode()
    assert f'"pets-{today}.csv"' in pets["Content-Disposition"]
    assert "From (Pacific/Kiritimati)" in admin_client.get(AUDIT).content.decode()
    rows = csv_rows(audit)
    assert rows
    assert all(row["time"].endswith("+00:00") for row in rows)
    assert f'"audit-{today}.csv"' in audit["Content-Disposition"]
