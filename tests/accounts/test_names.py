"""Names of accounts that people would take for one another."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from tests.accounts.pages import ADD, page_of
from tests.backoffice.login import log_in
from tests.backoffice.pages import messages, submit

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def added(client: Client, name: str) -> list[str]:
    """Fill in the form of a new account, and return the errors of the name or the messages of the next page."""
    response = submit(client, ADD, "account_form", {"username": name, "role": "Administrator"})
    form = response.context.get("adminform")
    return form.form.errors["username"] if form else messages(response)


@pytest.mark.parametrize(
    ("existing", "new"),
    [
        ("Älice", "älice"),
        ("alicé", "ALICE\N{COMBINING ACUTE ACCENT}"),
        ("strasse", "Straße"),
        ("alice", "\N{FULLWIDTH LATIN SMALL LETTER A}LICE"),
    ],
)
def test_a_name_that_differs_only_in_case_or_form_is_refused(admin_client: Client, existing: str, new: str) -> None:
    User.objects.create_user(existing)

    assert added(admin_client, new) == [f"There is already an account with the name “{existing}”. Choose another name."]
    with pytest.raises(CommandError, match="There is already an account with the name"):
        call_command("createsuperuser", "--noinput", "--username", new, "--email", "", stdout=StringIO())
    assert not User.objects.filter(username=User.normalize_username(new)).exclude(username=existing).exists()


@pytest.mark.parametrize(
    ("name", "scripts"),
    [
        ("\u0430da", "Cyrillic, Latin"),
        ("ad\u03b1", "Greek, Latin"),
        *((name, "") for name in ("анна-7", "eve.2", "花子", "élan")),
    ],
)
def test_a_name_with_letters_of_several_scripts_is_warned_about(admin_client: Client, name: str, scripts: str) -> None:
    found = [warning.partition(". ")[0] for warning in added(admin_client, name)]

    assert User.objects.filter(username=name).exists()
    assert found == [f"The user name “{name}” has letters of several scripts: {scripts}"] * bool(scripts)


def test_accounts_that_had_such_names_before_log_in_and_are_changed(admin_client: Client) -> None:
    for name in ("Älice", "älice"):
        User.objects.create_user(name, password="a long one", is_staff=True)

    for name in ("Älice", "älice"):
        submit(admin_client, page_of(User.objects.get(username=name)), "account_form", {"full_name": f"{name} A"})
        assert User.objects.get(username=name).get_full_name() == f"{name} A"
        response = log_in("a long one", name=name)
        assert response.status_code == 302
        assert int(response.client.session["_auth_user_id"]) == User.objects.get(username=name).pk  # type: ignore[attr-defined]
