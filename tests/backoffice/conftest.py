import pytest
from django.contrib.auth.models import User

from tests.backoffice.login import PASSWORD


@pytest.fixture
def ada(db: None) -> User:
    """Staff without rights, with a password."""
    return User.objects.create_user("ada", password=PASSWORD, is_staff=True)
