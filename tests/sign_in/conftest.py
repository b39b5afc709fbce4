import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.backoffice.login import PASSWORD


@pytest.fixture
def ada(db: None) -> User:
    """A staff account with a password and no permissions."""
    return User.objects.create_user("ada", password=PASSWORD, is_staff=True)


@pytest.fixture
def boss(db: None) -> User:
    """An administrator."""
    return User.objects.create_superuser("boss", password=PASSWORD)


@pytest.fixture
def boss_client(boss: User) -> Client:
    client = Client()
    client.force_login(boss)
    return client
