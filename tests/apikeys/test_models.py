from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError

from petservice.apikeys.models import IDLE_AFTER, NEVER_USED_AFTER, APIKey

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("expires_at", "grace_period", "expected"),
    [(None, DAY, NOW + DAY), (None, timedelta(0), NOW), (NOW + DAY, 30 * DAY, NOW + DAY)],
    ids=["a day", "none", "the old key expires before"],
)
def test_a_rotated_key_works_for_the_grace_period_but_no_longer_than_before(
    expires_at: datetime | None, grace_period: timedelta, expected: datetime
) -> None:
    old, _ = APIKey.objects.create_key(name="Acme", environment="live", expires_at=expires_at)

    new, _ = old.rotate(grace_period=grace_period, expires_at=None, now=NOW)

    stored = APIKey.objects.get(pk=old.pk)
    assert (stored.expires_at, stored.is_revoked) == (expected, False)
    assert (new.expires_at, new.environment) == (None, "live")


def test_a_key_that_was_replaced_after_it_was_read_is_not_replaced_again() -> None:
    APIKey.objects.create_key(name="Zoo", environment="live", pk=1)
    api_key, _ = APIKey.objects.create_key(name="Acme", pk=2)
    APIKey.objects.filter(pk=2).update(replaced_by=1)

    with pytest.raises(ValueError, match=r"already replaced by Zoo \(pets_live_.{8}…\)"):
        api_key.rotate(grace_period=DAY, expires_at=None, now=NOW)

    assert APIKey.objects.count() == 2


def test_a_key_that_was_revoked_after_it_was_read_gets_no_grace_period() -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    APIKey.objects.update(revoked_at=NOW)

    api_key.rotate(grace_period=DAY, expires_at=None, now=NOW)

    assert (api_key.revoked_at, api_key.expires_at) == (NOW, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", ""), ("environment", "prod"), ("access", "all"), ("requests_per_minute", 0), ("requests_per_minute", -1)],
)
def test_the_database_rejects_invalid_values(field: str, value: object) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")

    with pytest.raises(IntegrityError):
        APIKey.objects.filter(pk=api_key.pk).update(**{field: value})


def test_a_key_remains_when_the_account_that_created_it_is_deleted() -> None:
    staff = get_user_model().objects.create_user("staff")
    APIKey.objects.create_key(name="Acme", created_by=staff)

    staff.delete()

    assert APIKey.objects.get().created_by is None


@pytest.mark.parametrize(
    ("fields", "use"),
    [
        ({}, "never"),
        ({"created_at": NOW - NEVER_USED_AFTER}, None),
        ({"created_at": NOW - NEVER_USED_AFTER - MICROSECOND}, "never"),
        ({"expires_at": NOW + MICROSECOND}, "never"),
        ({"expires_at": NOW}, None),
        ({"revoked_at": NOW}, None),
        ({"last_used_at": NOW}, None),
        ({"last_used_at": NOW - IDLE_AFTER}, None),
        ({"last_used_at": NOW - IDLE_AFTER - MICROSECOND}, "idle"),
        ({"last_used_at": NOW - IDLE_AFTER - MICROSECOND, "expires_at": NOW + MICROSECOND}, "idle"),
        ({"last_used_at": NOW - IDLE_AFTER - MICROSECOND, "expires_at": NOW}, None),
        ({"last_used_at": NOW - IDLE_AFTER - MICROSECOND, "revoked_at": NOW}, None),
    ],
)
def test_a_usable_key_is_never_used_or_idle_or_neither(fields: dict[str, datetime], use: str | None) -> None:
    APIKey.objects.create_key(name="Acme", **{"created_at": NOW - 2 * IDLE_AFTER} | fields)

    uses = [one for one in APIKey.Use if APIKey.objects.filter(APIKey.in_use(one, NOW)).exists()]

    assert uses == ([use] if use else [])
