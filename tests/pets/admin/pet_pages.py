"""The pages of pets in the admin, and what they show."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client, RequestFactory
from django.urls import resolve, reverse
from django.utils import timezone

from pets.models import Pet
from petservice.journal.sentences import sentence
from tests.backoffice.pages import fields_of, read, undo_url
from tests.backoffice.staff import logged_in

LIST = reverse("admin:pets_pet_changelist")


def page_of(pet: Pet) -> str:
    return reverse("admin:pets_pet_change", args=[pet.pk])


def sent(client: Client, url: str, fields: dict[str, Any]) -> Any:
    """Send a form, and return the response, with the messages of the page to which it redirects.

    That page is not rendered, because this would take longer than all else.
    """
    response: Any = client.post(url, fields)
    if response.status_code == 302:
        response.context = {"messages": [*get_messages(response.wsgi_request)]}
        response.redirect_chain = [(response["Location"], 302)]
        client.cookies.pop("messages", None)
    return response


def edit(client: Client, pet: Pet, values: dict[str, Any]) -> Any:
    """Change values of a pet on its page, and return the response."""
    return sent(client, page_of(pet), read(client, page_of(pet), "pet_form") | values)


def someone_else_edits(pet_name: str, **values: Any) -> Any:
    """Change the values of a pet on its page, as another member of staff, and return the response."""
    user, _ = User.objects.get_or_create(username="bea", is_staff=True, is_superuser=True)
    return edit(logged_in(user), Pet.objects.get(name=pet_name), values)


def undo(client: Client, response: Any) -> Any:
    """Open the page that the link in a message leads to, and undo the change there."""
    url = undo_url(response)
    page = client.get(url)
    assert page.status_code == 200
    return sent(client, url, fields_of(page, "undo"))


def listed(client: Client, url: str = LIST, **query: Any) -> Any:
    """Return the list that a page shows to the account, without its HTML."""
    request = RequestFactory().get(url, query)
    request.user = User.objects.get(pk=client.session[SESSION_KEY])
    with timezone.override(settings.STORE_TIME_ZONE):
        return resolve(urlsplit(url).path).func.model_admin.get_changelist_instance(request)


def versions_shown(client: Client, url: str = LIST) -> dict[str, int]:
    """Return the versions of the pets that a list shows, by their ids, as its checkboxes have them."""
    return {pet.pk: pet.version for pet in listed(client, url).result_list}


def names(client: Client, url: str = LIST, **query: Any) -> list[str]:
    return [str(pet) for pet in listed(client, url, **query).result_list]


def number_of(client: Client, field: str, url: str = LIST) -> str:
    """Return the value of the parameter `o` that sorts a list by a field, with a minus for the reverse order."""
    columns = {name: number for number, name in listed(client, url).sortable_columns()}
    return f"{'-' if field.startswith('-') else ''}{columns[field.removeprefix('-')]}"


def histories(client: Client, pet: Pet) -> list[tuple[str, str]]:
    """Return the users and sentences of the page of the pet's history, newest first."""
    items = client.get(reverse("admin:pets_pet_history", args=[pet.pk])).context["page"]
    return [(item.event.account_name, sentence(item)) for item in items]
