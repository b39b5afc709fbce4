"""The debug pages of Django, which a stranger can see where DEBUG is on, show no secrets."""

import html
from pathlib import Path
from secrets import token_hex

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, connections
from django.test import RequestFactory
from django.views.debug import technical_500_response

from petservice.db.postgresql.base import DatabaseWrapper
from tests.databases import migrated_database_url
from tests.service import running_service

SECRETS = ["red!s-passw0rd", "db-passw0rd", "the-secret-of-forms"]


@pytest.mark.once(on="postgresql")  # whose URL has a password
def test_a_stranger_s_form_with_too_many_fields_shows_no_secret_with_debug(tmp_path: Path) -> None:
    with migrated_database_url(tmp_path) as url:
        variables = {
            "DEBUG": "1",
            "REDIS_URL": "redis://:red!s-passw0rd@127.0.0.1:9/0",
            "SECRET_KEY": "the-secret-of-forms" * 4,
            "DATABASE_URL": f"{url}{'&' if '?' in url else '?'}password=db-passw0rd" if "postgres" in url else url,
        }
        with running_service(tmp_path, **variables) as service, service.client() as client:
            client.get("/admin/login/")
            page = client.post(
                "/admin/login/",
                data={f"field{number}": "x" for number in range(1100)},
                headers={"Accept": "text/html"},
            )

    assert page.status_code == 400
    assert "TooManyFieldsSent" in page.text
    assert "REDIS_URL" in page.text
    assert [secret for secret in SECRETS if secret in html.unescape(page.text)] == []


@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_a_failed_connection_shows_no_password(accept: str) -> None:
    own = connections[DEFAULT_DB_ALIAS].settings_dict
    password = token_hex(8)  # the page shows this source
    changed = {"PASSWORD": password, "HOST": "127.0.0.1", "PORT": "9", "NAME": "pets", "USER": "ada"}
    request = RequestFactory().get("/admin/", headers={"Accept": accept})
    broken = DatabaseWrapper(own | changed | {"OPTIONS": {}}, "broken")

    with pytest.raises(psycopg.OperationalError) as failed:
        broken.connect()
    page = technical_500_response(request, failed.type, failed.value, failed.tb).content.decode()

    assert "in get_new_connection" in page
    assert password not in page
