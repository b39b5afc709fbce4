"""Django's pages of users give groups and permissions, and nothing else. Its commands leave entries in the audit."""

import re
from collections.abc import Callable
from html import unescape
from io import StringIO
from typing import Any
from unittest.mock import Mock

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from petservice.accounts import groups
from petservice.journal.models import Event
from tests.accounts.pages import NEW_PASSWORD, audit_of, page_of
from tests.backoffice.pages import fields_of, messages, read, send, submit, text_of
from tests.backoffice.staff import logged_in
from tests.concurrent_write import only_on_postgresql, write_before

pytestmark = [pytest.mark.django_db, pytest.mark.once]

LIST = reverse("admin:auth_user_changelist")


def user_page(user: User, verb: str = "change") -> str:
    return reverse(f"admin:auth_user_{verb}", args=[user.pk])


def test_the_page_of_a_user_changes_only_groups_and_permissions_and_reads_them_together(
    admin_client: Client, admin_user: User, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(15):
        admin_client.get(user_page(admin_user))
    before = User.objects.filter(pk=admin_user.pk).values()[0]
    permission = Permission.objects.get(codename="view_pet")
    forged = {"username": "eve", "password": "x", "is_active": "", "is_staff": "", "is_superuser": ""}

    submit(admin_client, user_page(admin_user), "user_form", forged | {"user_permissions": [permission.pk]})

    assert User.objects.filter(pk=admin_user.pk).values()[0] == before
    assert [*admin_user.user_permissions.all()] == [permission]


def test_a_permission_with_a_key_that_no_database_can_have_is_refused(admin_client: Client, admin_user: User) -> None:
    fields = {"name": "Vets", "user_permissions": ["9" * 30], "permissions": ["9" * 30]}
    # PostgreSQL compares a number of any size, so there the form says that it is no choice.
    status = 400 if connection.vendor == "sqlite" else 200

    for url in (user_page(admin_user), reverse("admin:auth_group_add")):
        assert admin_client.post(url, fields).status_code == status, url
    assert not admin_user.user_permissions.exists()
    assert not Group.objects.filter(name="Vets").exists()


def test_a_group_with_a_name_in_use_is_saved_with_another_name_and_the_chosen_permissions(
    admin_client: Client,
) -> None:
    chosen, group = Permission.objects.get(codename="view_pet"), Group.objects.create(name="Vets")
    page = reverse("admin:auth_group_change", args=[group.pk])
    fields = read(admin_client, page, "group_form") | {"permissions": chosen.pk}
    send(admin_client, reverse("admin:auth_group_add"), {"name": "Nurses", "permissions": chosen.pk})

    refused = admin_client.post(page, fields | {"name": "Nurses"})
    send(admin_client, page, fields_of(refused, "group_form") | {"name": "Doctors"})

    assert [*Group.objects.get(name="Doctors").permissions.all()] == [chosen]
    _, added, event = Event.objects.with_record().order_by("pk")
    assert added.message.startswith("Added. Permissions: added “")
    assert (event.kind, event.record_type, event.record_id) == ("changed", "auth.group", str(group.pk))
    assert event.message.startswith("Name changed from “Vets” to “Doctors”. Permissions: added “")
    kept = "While the page was open, someone else changed the name to “Doctors”. That change was kept."
    assert kept in messages(send(admin_client, page, fields))


@only_on_postgresql
@pytest.mark.parametrize("kind", ["group", "user"])
def test_two_people_who_choose_permissions_at_the_same_time_keep_the_changes_of_both(
    admin_client: Client, admin_user: User, ada: User, kind: str
) -> None:
    is_user, group, colleague = kind == "user", Group.objects.create(name="Vets"), logged_in(admin_user)
    given = ada.user_permissions if is_user else group.permissions
    page, field = reverse(f"admin:auth_{kind}_change", args=[(ada if is_user else group).pk]), given.prefetch_cache_name
    one, two, three, four = (
        Permission.objects.get(codename=f"{verb}_pet") for verb in ("view", "add", "change", "delete")
    )
    given.set([one, two])
    shown = {"name": "Vets", "initial-name": "Vets", f"initial-{field}": [one.pk, two.pk]}
    assert len(re.findall(f'name="initial-{field}" value="[0-9]+"', admin_client.get(page).content.decode())) == 2

    def choose_others() -> None:
        send(colleague, page, shown | {field: [two.pk, three.pk]})

    present = f'FROM "auth_permission" INNER JOIN "{given.through._meta.db_table}" ON'
    with write_before(f'SELECT "auth_permission"."id" AS "id" {present}', choose_others):
        send(admin_client, page, shown | {field: [one.pk, four.pk]})

    assert {*given.all()} == {three, four}
    changes = Event.objects.filter(message__contains=": added ")
    assert [change.message.count("“") for change in changes] == [2, 2], "added one permission and removed another"


def test_both_histories_of_an_account_show_the_changes_of_all_pages(admin_client: Client, ada: User) -> None:
    pets = Group.objects.get(name=groups.PETS_AND_INVENTORY)
    keys = Group.objects.get(name=groups.PETS_INVENTORY_AND_KEYS)
    ada.groups.set([pets])
    assert f'href="{page_of(ada)}"' in admin_client.get(user_page(ada)).content.decode()

    submit(admin_client, user_page(ada), "user_form", {"groups": [keys.pk]})
    admin_client.post(page_of(ada, "deactivate"))

    for url in (user_page(ada, "history"), page_of(ada, "history")):
        page = unescape(text_of(admin_client.get(url)))
        assert f"Groups: added “{keys}”, removed “{pets}”." in page
        assert "Deactivated. All sessions ended." in page
    assert [kind for _, kind, _ in audit_of(ada)] == ["account_changed"] * 2


# The groups of roles, which a migration creates.


def test_the_group_of_a_role_keeps_its_name_and_is_not_deleted(admin_client: Client) -> None:
    name = groups.PETS_AND_INVENTORY
    role, other = Group.objects.get(name=name), Group.objects.create(name="Vets")
    page = reverse("admin:auth_group_change", args=[role.pk])
    kept = f"The group “{name}” is the role “{name}” of staff accounts, so it keeps its name and cannot be deleted."

    shown = unescape(admin_client.get(page).content.decode())
    given = [*role.permissions.values_list("pk", flat=True)]
    permission = Permission.objects.exclude(pk__in=given)[0]
    fields = {"name": "Sales floor", "permissions": [permission.pk], "initial-permissions": given, "_save": "Save"}
    admin_client.post(page, fields)
    alone = admin_client.post(reverse("admin:auth_group_delete", args=[role.pk]), {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [role.pk, other.pk], "post": "yes"}
    admin_client.post(reverse("admin:auth_group_changelist"), chosen)

    assert kept in shown
    assert "deletelink" not in shown
    assert alone.status_code == 403
    assert Group.objects.filter(name__in=[name, "Vets"]).count() == 2
    assert [*role.permissions.all()] == [permission]
    assert name in admin_client.get(reverse("admin:accounts_account_add")).content.decode()


def test_a_missing_group_is_created_without_the_permissions_of_other_apps_and_others_stay_as_they_are() -> None:
    created = {*Group.objects.get(name=groups.PETS_AND_INVENTORY).permissions.values_list("pk", flat=True)}
    changed = Group.objects.get(name=groups.PETS_INVENTORY_AND_KEYS)
    changed.permissions.clear()
    Group.objects.get(name=groups.PETS_AND_INVENTORY).delete()
    other = ContentType.objects.create(app_label="removed", model="pet")
    Permission.objects.create(content_type=other, codename="view_pet", name="Can view pet")

    groups.create_groups(apps.get_app_config("auth"), "default")

    assert len(created) == 6
    assert {*Group.objects.get(name=groups.PETS_AND_INVENTORY).permissions.values_list("pk", flat=True)} == created
    assert not changed.permissions.exists()


@only_on_postgresql
def test_a_group_that_someone_chooses_while_it_is_deleted_is_told_once(admin_client: Client, ada: User) -> None:
    group = Group.objects.create(name="Vets")

    with write_before('DELETE FROM "auth_group" ', lambda: ada.groups.add(group)):
        response = admin_client.post(reverse("admin:auth_group_delete", args=[group.pk]), {"post": "yes"}, follow=True)

    assert messages(response) == ["The group “Vets” was deleted successfully."]


# Commands.

RUN_BY = "Run by the operating system user "
Run = Callable[..., tuple[str, str]]


def test_a_new_superuser_is_in_the_audit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", NEW_PASSWORD)

    run("createsuperuser", "--noinput", "--username", "eve", "--email", "")

    ((account, kind, message),) = audit_of(User.objects.get(username="eve", is_superuser=True))
    assert (account, kind) == ("command", "account_added")
    assert message.startswith(f"Added by the command createsuperuser. Role: Administrator. {RUN_BY}")

    call_command("createsuperuser", stdin=StringIO(), stdout=StringIO())  # adds nobody, because it cannot ask
    assert Event.objects.count() == 1


def test_a_changed_password_is_in_the_audit_and_nothing_if_no_password_was_changed(
    run: Run, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(**_: Any) -> str:
        User.objects.update(is_active=False)  # somebody else
        return NEW_PASSWORD

    monkeypatch.setattr("getpass.getpass", ask)
    with pytest.raises(CommandError, match="does not exist"):
        run("changepassword", "eve")
    with monkeypatch.context() as patch:
        patch.setattr("os.getuid", Mock(side_effect=KeyboardInterrupt))  # which the entry of the audit needs
        with pytest.raises(KeyboardInterrupt):
            run("changepassword", "ada")
    assert not User.objects.get().check_password(NEW_PASSWORD)
    assert not Event.objects.exists()
    User.objects.update(is_active=True)

    run("changepassword", "ada")

    assert (User.objects.get().check_password(NEW_PASSWORD), User.objects.get().is_active) == (True, False)
    ((account, kind, message),) = audit_of(ada)
    assert (account, kind) == ("command", "account_changed")
    assert message.startswith(f"Password changed by the command changepassword. {RUN_BY}")

    monkeypatch.setattr("getpass.getpass", lambda **_: User.objects.all().delete() and NEW_PASSWORD)
    with pytest.raises(CommandError, match="does not exist any more"):
        run("changepassword", "ada")
