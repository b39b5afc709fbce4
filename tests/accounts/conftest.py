import pytest
from django.contrib.auth.models import User

from tests.backoffice.login import PASSWORD


@pytest.fixture
def ada(db: None) -> User:
    """A staff account with a password and no permissions."""
    return User.objects.create_user("ada", password=PASSWORD, is_staff=True)
