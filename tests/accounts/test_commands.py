"""Django's commands that change accounts leave an entry in the audit."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from petservice.journal.models import Event
from tests.accounts.pages import NEW_PASSWORD, audit_of

pytestmark = [pytest.mark.django_db, pytest.mark.once]

RUN_BY = "Run by the operating system user "
Run = Callable[..., tuple[str, str]]


@pytest.fixture(autouse=True)
def _typed_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter a password where a command asks for one."""
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: NEW_PASSWORD)


def test_a_new_superuser_is_in_the_audit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", NEW_PASSWORD)

    run("createsuperuser", "--noinput", "--username", "eve", "--email", "")

    ((account, kind, message),) = audit_of(User.objects.get(username="eve", is_superuser=True))
    assert (account, kind) == ("command", "account_added")
    assert message.startswith(f"Added by the command createsuperuser. Role: Administrator. {RUN_BY}")

    call_command("createsuperuser", stdin=StringIO(), stdout=StringIO())  # adds nobody, because it cannot ask
    assert Event.objects.count() == 1


def test_a_changed_password_is_in_the_audit_and_nothing_if_no_password_was_changed(run: Run, ada: User) -> None:
    with pytest.raises(CommandError, match="does not exist"):
        run("changepassword", "eve")
    assert not Event.objects.exists()

    run("changepassword", "ada")

    assert User.objects.get().check_password(NEW_PASSWORD)
    ((account, kind, message),) = audit_of(ada)
    assert (account, kind) == ("command", "account_changed")
    assert message.startswith(f"Password changed by the command changepassword. {RUN_BY}")


def test_an_audit_that_cannot_be_written_does_not_prevent_the_change(run: Run, ada: User) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE journal_event RENAME TO missing")

    _, errors = run("changepassword", "ada")

    assert "The audit cannot be written (" in errors
    assert "The account is saved." in errors
    assert User.objects.get().check_password(NEW_PASSWORD)
