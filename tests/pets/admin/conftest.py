import pytest
from django.test import Client


@pytest.fixture
def staff(admin_client: Client) -> Client:
    return admin_client
