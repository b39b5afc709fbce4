"""How far the times of keys are from now, in the list of keys."""

import re
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from petservice.admin_pages.relative_time import relative
from petservice.apikeys.models import APIKey

NOW = datetime.fromisoformat("2026-11-26T12:00:00+00:00")


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (timedelta(days=95), "in 3\xa0months"),
        (timedelta(minutes=1), "in 1\xa0minute"),
        (timedelta(seconds=59), "now"),
        (timedelta(seconds=-59), "now"),
        (timedelta(minutes=-2, seconds=-30), "2\xa0minutes ago"),
        (timedelta(days=-800), "2\xa0years ago"),
    ],
)
def test_a_time_is_told_in_its_largest_unit(distance: timedelta, text: str) -> None:
    assert f">{text}</time>" in relative(NOW + distance, NOW)


@pytest.mark.django_db
def test_the_list_of_keys_tells_the_expiry_and_the_last_use_with_the_exact_time(admin_client: Client) -> None:
    now = timezone.now()
    api_key, _ = APIKey.objects.create_key(name="Acme", expires_at=now + timedelta(days=95))
    APIKey.objects.filter(pk=api_key.pk).update(last_used_at=now - timedelta(hours=2))

    page = admin_client.get("/admin/apikeys/apikey/").content.decode()

    times = re.findall(r'<time datetime="[^"]*" title="(\d{4}-\d\d-\d\d \d\d:\d\d UTC)">([^<]*)</time>', page)
    assert [text for _, text in times] == ["in 3\xa0months", "2\xa0hours ago"]
