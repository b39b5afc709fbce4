import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.backoffice.clock import Clock
from tests.backoffice.staff import PASSWORD, logged_in


@pytest.fixture
def boss(db: None) -> User:
    """An administrator."""
    return User.objects.create_superuser("boss", password=PASSWORD)


@pytest.fixture
def boss_client(boss: User) -> Client:
    return logged_in(boss)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of this process, which only the test moves."""
    return Clock(monkeypatch)
