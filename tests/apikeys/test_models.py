from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone

from petservice.apikeys import keys
from petservice.apikeys.models import IDLE_AFTER, NEVER_USED_AFTER, APIKey

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(days=1)


def test_a_new_key_has_the_environment_of_the_service_and_may_write() -> None:
    api_key, plain = APIKey.objects.create_key(name="Acme")

    assert (api_key.environment, api_key.access) == ("test", APIKey.Access.READ_AND_WRITE)
    assert keys.environment_of(plain) == "test"
    assert not api_key.is_revoked
    assert not api_key.is_expired(timezone.now())
    assert (api_key.created_by, api_key.expires_at, api_key.last_used_at) == (None, None, None)


def test_only_the_prefix_and_the_digest_of_a_key_are_stored() -> None:
    _, plain = APIKey.objects.create_key(name="Acme", environment="live")

    stored = APIKey.objects.values().get()
    assert stored["prefix"] == plain[:18]
    assert stored["digest"] == keys.digest(plain)
    assert plain[18:] not in repr(stored)


def test_a_read_only_key_may_not_write() -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme", access=APIKey.Access.READ_ONLY)

    assert api_key.access == APIKey.Access.READ_ONLY


def test_the_text_of_a_key_contains_its_prefix_and_not_its_secret() -> None:
    api_key, plain = APIKey.objects.create_key(name="Acme")

    assert str(api_key) == f"Acme ({plain[:18]}…)"


def test_revoking_records_the_first_time() -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    seen_before = APIKey.objects.get()
    api_key.revoke(now=NOW)
    assert api_key.is_revoked

    api_key.revoke(now=NOW + DAY)
    seen_before.revoke(now=NOW + DAY)

    assert APIKey.objects.get().revoked_at == NOW


def test_a_key_is_expired_from_its_expiry_time_on() -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme", expires_at=NOW)

    assert not api_key.is_expired(NOW - MICROSECOND)
    assert api_key.is_expired(NOW)
    assert api_key.is_expired(NOW + MICROSECOND)


def test_the_error_for_a_revoked_or_expired_key_says_why(client: Client) -> None:
    revoked, revoked_plain = APIKey.objects.create_key(name="Acme")
    revoked.revoke()
    _, expired_plain = APIKey.objects.create_key(name="Acme", expires_at=timezone.now())

    for plain, why in ((revoked_plain, "revoked"), (expired_plain, "expired")):
        response = client.get("/v1/pets", headers={"X-API-Key": plain})
        assert response.status_code == 401
        assert response["WWW-Authenticate"]
        assert why in response.json()["error"]["message"]
        assert plain not in response.text


def test_rotating_creates_a_replacement_with_the_same_settings() -> None:
    staff = get_user_model().objects.create_user("staff")
    old, old_plain = APIKey.objects.create_key(name="Acme", environment="live", access="read", requests_per_minute=600)

    new, plain = old.rotate(grace_period=DAY, expires_at=None, created_by=staff, now=NOW)

    assert (new.name, new.environment, new.access) == ("Acme", "live", "read")
    assert new.requests_per_minute == 600
    assert (new.created_by, new.revoked_at, new.last_used_at) == (staff, None, None)
    assert plain != old_plain
    assert new.digest == keys.digest(plain)


@pytest.mark.parametrize(
    ("expires_at", "grace_period", "expected"),
    [(None, DAY, NOW + DAY), (None, timedelta(0), NOW), (NOW + DAY, 30 * DAY, NOW + DAY)],
    ids=["a day", "none", "the old key expires before"],
)
def test_a_rotated_key_works_for_the_grace_period_but_no_longer_than_before(
    expires_at: datetime | None, grace_period: timedelta, expected: datetime
) -> None:
    old, _ = APIKey.objects.create_key(name="Acme", expires_at=expires_at)

    new, _ = old.rotate(grace_period=grace_period, expires_at=None, now=NOW)

    stored = APIKey.objects.get(pk=old.pk)
    assert (stored.expires_at, stored.is_revoked, new.expires_at) == (expected, False, None)


@pytest.mark.parametrize("lifetime", [None, 90 * DAY])
def test_a_replacement_has_its_own_lifetime_from_the_time_of_the_rotation(lifetime: timedelta | None) -> None:
    old, _ = APIKey.objects.create_key(name="Acme", created_at=NOW - 80 * DAY, expires_at=NOW + 10 * DAY)

    new, _ = old.rotate(grace_period=DAY, expires_at=lifetime and NOW + lifetime, now=NOW)

    assert (new.lifetime, old.lifetime) == (lifetime, 81 * DAY)
    assert new.expires_at == (NOW + lifetime if lifetime else None)


def test_a_replaced_key_cannot_be_rotated_again() -> None:
    old, _ = APIKey.objects.create_key(name="Acme")
    read_before = APIKey.objects.get()
    new, _ = old.rotate(grace_period=DAY, expires_at=None, now=NOW)

    with pytest.raises(ValueError, match=f"already replaced by .*{new.prefix}"):
        read_before.rotate(grace_period=DAY, expires_at=None, now=NOW)

    assert APIKey.objects.count() == 2


@pytest.mark.parametrize("ended", [{"revoked_at": NOW}, {"expires_at": NOW}], ids=["revoked", "expired"])
def test_a_key_that_ended_after_it_was_read_cannot_be_rotated(ended: dict[str, datetime]) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    APIKey.objects.update(**ended)

    with pytest.raises(ValueError, match="A revoked or expired key cannot be rotated"):
        api_key.rotate(grace_period=DAY, expires_at=None, now=NOW)

    assert APIKey.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"), [("name", ""), ("environment", "prod"), ("environment", ""), ("access", "all"), ("access", "")]
)
def test_the_database_rejects_invalid_values(field: str, value: str) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")

    with pytest.raises(IntegrityError):
        APIKey.objects.filter(pk=api_key.pk).update(**{field: value})


def test_the_database_rejects_a_second_record_of_the_same_key() -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    api_key.pk = None

    with pytest.raises(IntegrityError):
        api_key.save(force_insert=True)


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
