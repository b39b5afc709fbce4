"""The pages of staff accounts, as administrators and the holders of links use them."""

import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from petservice.accounts.groups import PETS_AND_INVENTORY
from petservice.journal.models import Event
from tests.backoffice.pages import read

LIST = reverse("admin:accounts_account_changelist")
ADD = reverse("admin:accounts_account_add")
NEW_PASSWORD = "another long one"
PASSWORDS = {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
NEW = {"username": "eve", "full_name": "Eve Adams", "role": PETS_AND_INVENTORY}


def page_of(account: User, verb: str = "change") -> str:
    return reverse(f"admin:accounts_account_{verb}", args=[account.pk])


def link_in(response: Any) -> str:
    """Return the path of the link that a page shows."""
    (path,) = re.findall(r'value="http://testserver(/admin/set-password/\w+/[a-z0-9-]+/)"', response.content.decode())
    return path


def new_account(client: Client, **changes: str) -> tuple[User, str]:
    """Add an account, and return it with the path of its link."""
    fields = read(client, ADD, "account_form") | NEW | changes
    response = client.post(ADD, fields)
    return User.objects.get(username=fields["username"]), link_in(response)


def new_link(client: Client, account: User) -> str:
    """Create a link for an account, and return its path."""
    token = re.search(r'name="form_token" value="([^"]*)"', client.get(page_of(account, "link")).content.decode())[1]
    return link_in(client.post(page_of(account, "link"), {"form_token": token}))


def use(link: str, **changes: str) -> Any:
    """Open a link in a new browser, send the form if there is one, and return the final response."""
    browser = Client()
    opened = browser.get(link)
    return browser.post(opened["Location"], PASSWORDS | changes, follow=True) if "Location" in opened else opened


def audit_of(account: User) -> list[tuple[str, str, str]]:
    """Return who did what to an account, from the audit."""
    events = Event.objects.filter(record_type="auth.user", items__record_id=str(account.pk)).order_by("pk")
    return list(events.values_list("account_name", "kind", "message"))
