"""Administrators list, add and change staff accounts with a role, and destroy nothing by a save."""

import re
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from petservice.accounts.groups import PETS_AND_INVENTORY, PETS_INVENTORY_AND_KEYS
from tests.accounts.pages import ADD, LIST, NEW, audit_of, link_in, new_account, page_of
from tests.backoffice.login import PASSWORD, fail, log_in
from tests.backoffice.pages import messages, read, send, submit, text_of
from tests.backoffice.staff import is_logged_in, logged_in

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def rows(client: Client, query: str = "") -> dict[str, list[str]]:
    """Return full name, role, state, second factor and last login of each row of the list, by name of the account."""
    page = client.get(LIST + query).content.decode()
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("<tr>")[1:]]
    texts = [[unescape(re.sub("<[^>]*>", "", cell)) for cell in row] for row in cells]
    return {name: [full_name, role, state, factor, last] for name, state, role, factor, full_name, last in texts}


# The list.


def test_the_list_shows_name_role_state_second_factor_and_last_login(
    admin_client: Client, django_assert_num_queries: Any
) -> None:
    new_account(admin_client)
    for name, fields in {
        "active": {"last_login": datetime(2026, 11, 24, 9, 30, tzinfo=UTC)},
        "former": {"is_active": False},
        "guessed": {},
        "outsider": {"is_staff": False},
    }.items():
        User.objects.create_user(name, **{"password": PASSWORD, "is_staff": True} | fields)
    fail(name="guessed")
    active, former = User.objects.filter(username__in=("active", "former")).order_by("username")
    TOTPDevice.objects.create(user=active, name="Authenticator app")
    TOTPDevice.objects.create(user=former, name="Not confirmed yet", confirmed=False)

    shown = rows(admin_client)

    assert "Second_factor" not in admin_client.get(LIST).content.decode(), "the filter has the name of its parameter"
    assert shown.pop("admin")[:3] == ["—", "Administrator", "Active"]
    assert shown == {
        "eve": ["Eve Adams", PETS_AND_INVENTORY, "Invited", "Off", "—"],
        "active": ["—", "Custom", "Active", "On", "2026-11-24 09:30 UTC"],
        "former": ["—", "Custom", "Deactivated", "Off", "—"],
        "guessed": ["—", "Custom", "Locked", "Off", "—"],
        "outsider": ["—", "Custom", "Not staff", "Off", "—"],
    }
    assert [*rows(admin_client, "?second_factor=on")] == ["active"]
    assert '<div class="readonly">On</div>' in admin_client.get(page_of(active)).content.decode()
    with django_assert_num_queries(
        9
    ):  # session, account, second factor, number, numbers of two filters, and the list with its groups and permissions
        admin_client.get(LIST)


# Adding.


def test_a_new_account_is_staff_and_has_exactly_the_permissions_of_its_role(admin_client: Client) -> None:
    page = admin_client.get(ADD).content.decode()
    assert "password" not in page.partition('id="content"')[2].lower()

    for name, role in {"eve": PETS_AND_INVENTORY, "kim": PETS_INVENTORY_AND_KEYS, "ann": "Administrator"}.items():
        account, _ = new_account(admin_client, username=name, role=role)

        assert (account.is_staff, account.is_active, account.has_usable_password()) == (True, True, False)
        assert account.is_superuser == (role == "Administrator")
        assert [group.name for group in account.groups.all()] == ([] if account.is_superuser else [role])
        assert not account.user_permissions.exists()
        assert rows(admin_client)[name][1] == role
        assert audit_of(account) == [("admin", "account_added", f"Added. Role: {role}.")]


def test_an_invalid_account_is_not_added(admin_client: Client) -> None:
    fields = read(admin_client, ADD, "account_form") | NEW
    for change, error in [
        ({"username": "two words"}, "Enter a valid username."),
        ({"full_name": "x" * 151}, "at most 150 characters"),
        ({"role": ""}, "This field is required."),
        ({"role": "Custom"}, "Select a valid choice."),
    ]:
        assert error in unescape(admin_client.post(ADD, fields | change).content.decode()), change
    assert User.objects.count() == 1


# Changing.


def test_a_change_is_in_the_history_and_in_the_audit_with_old_and_new_values(admin_client: Client) -> None:
    account, _ = new_account(admin_client)
    session = logged_in(account)
    User.objects.filter(pk=account.pk).update(is_staff=False)
    fields = read(admin_client, page_of(account), "account_form")
    assert fields["role"] == PETS_AND_INVENTORY

    send(admin_client, page_of(account), fields | {"username": "eva", "full_name": "", "role": PETS_INVENTORY_AND_KEYS})

    changes = (
        "Username changed from “eve” to “eva”. Full name changed from “Eve Adams” to nothing. "
        "Role changed from Pets and inventory to Pets, inventory and API keys. Staff status given."
    )
    assert audit_of(account)[1:] == [("admin", "account_changed", changes)]
    history = text_of(admin_client.get(page_of(account, "history")))
    assert changes in unescape(history)
    account = User.objects.get(pk=account.pk)
    assert (account.username, account.get_full_name(), account.is_staff) == ("eva", "", True)
    assert not is_logged_in(session), "a session from before the loss of the staff status lives again"
    assert [group.name for group in account.groups.all()] == [PETS_INVENTORY_AND_KEYS]


def test_what_was_set_by_hand_is_shown_and_kept_by_a_save_until_a_role_replaces_it(admin_client: Client) -> None:
    account = User.objects.create_user("hand", first_name="Hand", last_name="Made", is_staff=True)
    account.groups.set([Group.objects.create(name="Vets"), Group.objects.get(name=PETS_AND_INVENTORY)])
    account.user_permissions.add(Permission.objects.get(codename="view_apikey"))
    custom = "Custom (groups: Pets and inventory, Vets; permissions: Can view API key)"
    before = User.objects.get(pk=account.pk).get_all_permissions()
    page = unescape(admin_client.get(page_of(account)).content.decode())
    assert custom in page
    assert f'href="{reverse("admin:auth_user_change", args=[account.pk])}"' in page

    submit(admin_client, page_of(account), "account_form", {"username": "handy"})
    assert rows(admin_client)["handy"][:2] == ["Hand Made", "Custom"]
    saved = User.objects.get(pk=account.pk)
    assert (saved.get_all_permissions(), saved.last_name) == (before, "Made")

    for role in ("Administrator", PETS_AND_INVENTORY):
        submit(admin_client, page_of(account), "account_form", {"role": role})
    assert [message for _, _, message in audit_of(account)][1:] == [
        f"Role changed from {custom} to Administrator.",
        "Role changed from Administrator to Pets and inventory.",
    ]
    assert rows(admin_client)["handy"][1] == PETS_AND_INVENTORY
    assert not User.objects.get(pk=account.pk).user_permissions.exists()


def test_the_form_of_an_account_offers_no_other_ways_to_save(admin_client: Client) -> None:
    assert "_addanother" not in admin_client.get(ADD).content.decode()
    forged = read(admin_client, ADD, "account_form") | NEW | {"username": "zoe", "_addanother": "1"}
    assert link_in(admin_client.post(ADD, forged))


# Names that people would take for one another.


def added(client: Client, name: str) -> list[str]:
    """Fill in the form of a new account, and return the errors of the name or the messages of the next page."""
    response = submit(client, ADD, "account_form", {"username": name, "role": "Administrator"})
    form = response.context.get("adminform")
    return form.form.errors["username"] if form else messages(response)


@pytest.mark.parametrize(
    ("existing", "new", "reason"),
    [
        ("alicé", "ALICE\N{COMBINING ACUTE ACCENT}", "There is already an account with the name “alicé”"),
        ("strasse", "Straße", "There is already an account with the name “strasse”"),
        ("alice", "\N{FULLWIDTH LATIN SMALL LETTER A}LICE", "There is already an account with the name “alice”"),
        ("eve", "Command", "“command” is what the audit calls the operator's commands"),
    ],
)
def test_a_name_that_people_would_take_for_another_is_refused(
    admin_client: Client, existing: str, new: str, reason: str
) -> None:
    User.objects.create_user(existing)

    assert added(admin_client, new) == [f"{reason}. Choose another name."]
    with pytest.raises(CommandError, match=reason):
        call_command("createsuperuser", "--noinput", "--username", new, "--email", "")
    assert {*User.objects.values_list("username", flat=True)} == {"admin", existing}


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
    assert found == [f"The username “{name}” has letters of several scripts: {scripts}"] * bool(scripts)


def test_accounts_that_had_such_names_before_log_in_and_are_changed(admin_client: Client) -> None:
    for name in ("Älice", "älice"):
        User.objects.create_user(name, password=PASSWORD, is_staff=True)

    for name in ("Älice", "älice"):
        submit(admin_client, page_of(User.objects.get(username=name)), "account_form", {"full_name": f"{name} A"})
        assert User.objects.get(username=name).get_full_name() == f"{name} A"
        response = log_in(name=name)
        assert response.status_code == 302
        assert int(response.client.session["_auth_user_id"]) == User.objects.get(username=name).pk
