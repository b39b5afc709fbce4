"""The permissions to import and export pets in the admin."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.backoffice.staff import granted, logged_in
from tests.pets.admin.import_export.import_pages import (
    CONFIRM,
    EXPORT,
    IMPORT,
    IMPORTER,
    LIST,
    exported,
    upload,
)


@pytest.mark.parametrize(
    ("permissions", "may_import", "may_export"),
    [
        (IMPORTER, True, True),
        (("view_pet", "add_pet"), False, True),
        (("view_pet", "change_pet"), False, True),
        (("view_pet",), False, True),
        ((), False, False),
    ],
)
def test_import_and_export_need_permissions(
    db: None, permissions: tuple[str, ...], may_import: bool, may_export: bool
) -> None:
    client = granted(*permissions)

    assert (client.get(IMPORT).status_code == 200) is may_import
    assert (upload(client, "name\nRex\n").status_code == 200) is may_import
    assert (client.post(CONFIRM, {}).status_code == 302) is may_import
    assert (client.get(EXPORT).status_code == 200) is may_export
    assert (exported(client).status_code == 200) is may_export
    if may_export:
        page = client.get(LIST).content.decode()
        assert ('class="import_link"' in page) is may_import
        assert 'class="export_link"' in page


@pytest.mark.django_db
@pytest.mark.parametrize("url", [IMPORT, CONFIRM, EXPORT])
def test_an_anonymous_user_is_redirected_to_the_login(url: str) -> None:
    for response in (Client().get(url), Client().post(url)):
        assert response.status_code == 302
        assert response["Location"].startswith(reverse("admin:login"))


def test_an_upload_without_the_csrf_token_is_rejected(admin_user: User) -> None:
    client = logged_in(admin_user, enforce_csrf_checks=True)

    assert upload(client, "name\nRex\n").status_code == 403
