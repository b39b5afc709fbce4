import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError

from petservice.apikeys.models import APIKey

pytestmark = pytest.mark.django_db


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
