from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError

from petservice.apikeys.models import APIKey

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
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
