"""The debug pages of Django, which a stranger can see where DEBUG is on, show no secrets."""

from secrets import token_hex

import psycopg
import pytest
from django.conf import LazySettings
from django.db import DEFAULT_DB_ALIAS, connections
from django.test import RequestFactory
from django.views.debug import technical_500_response

from petservice.db.postgresql.base import DatabaseWrapper


@pytest.mark.once
@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_the_page_of_a_failed_connection_shows_no_secret(accept: str, settings: LazySettings) -> None:
    own = connections[DEFAULT_DB_ALIAS].settings_dict
    password, secret = token_hex(8), token_hex(8)  # the page shows this source
    settings.REDIS_URL = f"redis://:{secret}@127.0.0.1:9/0"
    settings.DATABASE_URL = f"postgres://ada:{secret}@127.0.0.1:9/pets"
    settings.SECRET_KEY = secret
    changed = {"PASSWORD": password, "HOST": "127.0.0.1", "PORT": "9", "NAME": "pets", "USER": "ada"}
    request = RequestFactory().get("/admin/", headers={"Accept": accept})
    broken = DatabaseWrapper(own | changed | {"OPTIONS": {}}, "broken")

    with pytest.raises(psycopg.OperationalError) as failed:
        broken.connect()
    page = technical_500_response(request, failed.type, failed.value, failed.tb).content.decode()

    assert "in get_new_connection" in page
    assert "REDIS_URL" in page
    assert [one for one in (password, secret) if one in page] == []
