import pytest
from django.test import Client

from tests.backoffice.staff import granted
from tests.pets.admin.import_export.import_pages import IMPORTER


@pytest.fixture
def staff(db: None) -> Client:
    return granted(*IMPORTER, name="jo")
